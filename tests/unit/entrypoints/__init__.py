"""Tests of the process around the use cases."""
