"""Benchmarks: ``python -m benchmarks.<name>`` prints one table, ours beside the alternatives."""
