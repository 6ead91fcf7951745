"""A node of a network, without sockets, disks or clocks: its broker, and what makes it one of many.

    effect      what a driver tells the node besides what it tells a broker, and what it must carry out
    parameters  limits and times
    identity    who it is
    atlas       what it knows of the network
    carrier     publications on links: between messages of the wire and the router, custody
    seen        publications that it has had
    entry       how own publications get into trees
    grafting    how it gets into trees without the master
    lane        publications that come alone, by the shortest way
    issuing     own publications on their way into the network
    debt        what it still owes to the network
    directory   what it tells the master of its clients
    moving      sessions that follow their clients
    retention   retained messages of nodes that come, or come back
    record      what its journal keeps
    recovery    its state out of records
    outbox      what an event leads to
    figure      what is counted
    node        all of it

The head of each module has the theory of its part.
"""
