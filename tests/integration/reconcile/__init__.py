"""Reconciling on real servers."""
