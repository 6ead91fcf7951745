"""A node of a network, without sockets, disks or clocks: its broker, and what makes it one of many.

    node           events and frames, handed to the parts that decide about them
    assembly       its parts, put together
    local_broker   its broker: events for it, and what its effects mean for the network
    effect         what a driver tells the node besides what it tells a broker, and what it must carry out
    parameters     limits and times
    identity       who it is
    figure         what is counted

The network around it

    atlas          what it knows of the network
    registration   how it joins the network, and leaves
    assignment     links, tables and filters that the master assigns
    absence        nodes that are down
    lease          whether it may rely on what it knows
    directory      what it tells the master of its clients
    measurement    what it tells the master of itself
    link           links that come up, are lost, or do not keep up
    unicast        frames for one node, over the ring

Publications

    destination    where publications on a name go
    issuing        own publications, put on trees
    entry          how own publications get into trees
    attempt        own publications of QoS 1 and 2, issued until everybody has them
    debt           what it still owes to the network
    group          shared subscriptions: which node's member gets a publication
    message        how a publication is written, and whom each message is for
    carrier        publications on links: between messages of the wire and the router, custody
    arrival        publications of other nodes, as they come
    lane           publications that come alone, by the shortest way
    seen           publications that it has had
    grafting       how it gets into trees without the master
    retention      retained messages of nodes that come, or come back
    trace          ways of publications, told to the master

Sessions

    moving         sessions that follow their clients
    admission      clients that wait for their sessions, let in
    fetch          parts of sessions that wait at other nodes
    trail          sessions that have gone, and where to
    promise        what is said when the journal has been written
    session_memory what sessions were given

What lasts, and what goes out

    record         what its journal keeps
    recovery       its state out of records
    outbox         what an event leads to

The head of each module has the theory of its part.
"""
