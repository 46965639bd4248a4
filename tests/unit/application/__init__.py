"""Tests of the use cases, with fakes."""
