"""Overlays: one published algorithm a module."""
