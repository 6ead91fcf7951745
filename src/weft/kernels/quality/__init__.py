"""Measures of an overlay: diameters of topics, links seen by topic."""
