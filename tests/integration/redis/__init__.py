"""The Redis adapters against a real Valkey, healthy and not."""
