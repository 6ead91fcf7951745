"""Instances and publications made by name, size and seed."""
