"""Alembic's entry: run the wanted migrations on the connection that `quoth.migrations` was given."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,  # migrations are written by hand and compared with the tables by a test
    transactional_ddl=True,  # SQLite can, too, as long as every transaction is opened explicitly
    render_as_batch=True,
)
context.run_migrations()
