"""Tests: unit (fakes, seconds), contracts (one suite a port), integration (real servers)."""
