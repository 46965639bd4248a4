"""How fast the worker is, as ratios within one run on servers of its own: ``make bench``."""
