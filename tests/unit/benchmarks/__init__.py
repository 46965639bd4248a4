"""The arithmetic of the benchmarks."""
