"""Bytes that nobody would send, for everything that reads from a socket or a disk.

    PYTHONPATH=tests python -m fuzzing [INPUTS] [--seed N] [--only TARGET]

A target (targets.py) has examples of what it reads, large ones too, and says which error it may raise. Inputs are
examples with some bytes changed (changes.py). The seed and the number of an input repeat it.
"""
