"""A bandit that survives: its journal, and where the journal is kept."""
