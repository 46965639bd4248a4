"""The ports: what the application asks of the outside, one a file."""
