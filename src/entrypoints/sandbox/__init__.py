"""Servers of one's own: for the demo and for tests, gone with the process that started them."""
