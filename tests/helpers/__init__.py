"""Servers, proxies and processes that tests use; nothing here is a test."""
