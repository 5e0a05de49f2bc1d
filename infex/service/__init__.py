"""Decisions over HTTP: routes, schemas, tokens, metrics and a page; the studies do the rest."""
