"""How fast the worker is, as ratios within one run: ``make bench`` (docs/performance.md)."""
