"""What the benchmarks rest on: counting, and contestants that do the same work."""
