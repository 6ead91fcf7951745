"""Brokers of others: plans out, in their formats; their topologies in, with a score, and better places for clients."""
