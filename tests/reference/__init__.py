"""Slow, obviously correct oracles written from the papers, to test the fast code against.

They use Python's exact integers, the standard library and NumPy, and never import bayesieve. Logarithms are natural,
costs are in nats.
"""
