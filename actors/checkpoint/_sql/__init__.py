"""The storages in databases: what they share, SQLite, PostgreSQL."""
