"""Weave's trees: who is in them, and what form they have."""
