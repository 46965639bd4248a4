"""The operator's commands, as people run them."""
