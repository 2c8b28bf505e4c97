"""The relational store: books, jobs, conversations, keys and traces, in SQLite or PostgreSQL."""
