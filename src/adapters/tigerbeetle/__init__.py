"""TigerBeetle adapter, on the official client."""
