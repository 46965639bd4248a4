"""Postgres adapters, on psycopg 3."""
