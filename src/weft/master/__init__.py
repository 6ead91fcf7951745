"""What the master of a live network decides, without sockets, disks or clocks: events in, effects out.

effect      what a driver tells the master, and what it must carry out
parameters  what an operator may set
roster      who belongs to the network
directory   who holds which filter, and where sessions are
ring        places on the ring
plan        places and links, node by node
network     the plan, the links that are up, the trees, and what nodes are told
applying    which nodes have applied what they were told
traffic     what nodes measure
quality     what a plan is worth
snapshot    the network as an instance
engine      what designs
redesign    a design, put in place while everything runs
record      what is kept
answer      what operators hear
master      all of it
"""
