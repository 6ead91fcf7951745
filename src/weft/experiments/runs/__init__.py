"""Kinds of runs: frozen values of all that their figures depend on, cheap to import; each knows its measure."""
