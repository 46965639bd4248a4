"""Tests against real servers that the harness starts."""
