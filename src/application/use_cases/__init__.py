"""The use cases, one a file."""
