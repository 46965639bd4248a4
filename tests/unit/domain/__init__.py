"""Pure decisions, without fakes."""
