"""Greedy choice of links: contributions, candidates, constraints, and the sets that divide and conquer needs."""
