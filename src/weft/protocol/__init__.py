"""Routers without input or output: events in, effects out."""
