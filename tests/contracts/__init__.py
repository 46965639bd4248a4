"""One suite a port; fake and real adapter inherit and run the same tests."""
