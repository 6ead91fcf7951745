"""What the master of a live network decides, without sockets, disks or clocks: events in, effects out.

    effect      what a driver tells the master, and what it must carry out
    parameters  what an operator may set
    roster      nodes by name and number
    directory   who holds which filter, and where sessions are
    gathering   sessions that their owners have yet to fetch parts of
    ring        places on the ring
    belief      counts of its own that nodes state
    plan        places and links, node by node
    network     the plan, the links that are up, and the trees over them
    changes     what nodes have not been told of it yet
    bulletin    what they are told
    applying    which nodes have applied what they were told
    membership  nodes that come, fail and leave
    traffic     what nodes measure
    quality     what a plan is worth
    snapshot    the network as an instance
    engine      what designs
    redesign    a design, put in place while everything runs
    designing   when a design is wanted, and what becomes of it
    record      what is kept
    keeping     records out of a network, and a network out of records
    answer      answers to operators
    operating   their questions
    turn        one event, and what it leads to
    master      all of it

The head of each module has the theory of its part.
"""
