"""Decisions over HTTP: shapes of requests and answers, tokens, figures and a page; studies do the rest."""
