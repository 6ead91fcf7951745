"""Routing in bulk: for each router how its kernel is called, in a module of the same name."""
