"""The TigerBeetle adapter on the official client, with and without a server."""
