"""Alembic's entry: run the wanted migrations on the connection that `quoth.store.migrations` was given.

That connection is already in a transaction, so Alembic neither begins nor commits one. Migrations are written by hand
and compared with the tables by a test; nothing is generated from metadata here.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
