"""The fakes: each passes the contract of its port."""
