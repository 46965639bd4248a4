"""Adapters: the only layer that imports drivers."""
