"""Postgres adapters against a real server."""
