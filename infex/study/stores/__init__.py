"""Where journals are kept: a file of SQLite, or PostgreSQL."""
