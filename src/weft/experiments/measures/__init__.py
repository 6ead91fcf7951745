"""Measures: the figures of each kind of run, by the builders and simulators of the rooms below."""
