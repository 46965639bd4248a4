"""All ports in memory, for fast tests and for trying things out."""
