"""Chaos: whole networks under virtual time, each from one seed, with everything that can fail failing.

    case        what happens in a run, drawn from a seed: a list of acts, any of which can be left out
    variety     what clients differ in: identifiers, wills, expiry, how they go, sessions begun anew
    coincidence what happens shortly before or after something else in it
    stage       a case played: clients, nodes, master, disks, clocks and what lies between them
    verdict     what was found, what was tried, and the story
    minimise    a smaller case that still fails
    campaign    many seeds on all cores

The promises are docs/guarantees.md; the oracle that knows them is sim/cluster/oracle.py.
"""
