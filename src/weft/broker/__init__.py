"""What one node does for its MQTT clients, without sockets, disks or clocks: events in, effects out.

    effect        what a driver tells the broker, and what it must carry out
    parameters    limits and times
    publication   what a client says, and its way to one session
    subscription  what a session wants, all its matching filters taken together
    filter        filters, found by the names that they match
    route         a name's receivers, kept until a subscription changes them
    shared        groups of which one member gets a publication
    subscriptions who holds which filter
    subscribing   SUBSCRIBE, UNSUBSCRIBE and their answers
    session       what outlives a connection
    sessions      all of them: begun, left, ended
    queue         what waits for a client, within bounds
    connection    what ends with a connection
    unread        what a client has sent and is not handled
    hold          why clients are not heard
    backlog       what takes longer than one event may
    alias         topics by number (MQTT 5)
    outbox        what an event leads to: bytes by connection, records
    outbound      QoS 0, 1 and 2 to a client
    inbound       QoS 1 and 2 from a client
    permission    whether something may be published now, by PUBLISH or as a will
    distribution  a publication to everybody who gets it
    lane          publications of QoS 0, passed on as the bytes they came in
    window_lane   the same for QoS 1
    retained      the last message of a topic
    giving        those that new subscriptions get
    will          the message of a client that went without a word
    capability    what of MQTT is switched off or bounded
    reading       bytes of clients, read as packets
    checking      passwords that wait to be checked
    entrance      from CONNECT to a session: what is checked, and awaited
    admission     CONNECT and its answer
    parting       how connections end
    enforcement   rights that are taken away
    deadline      what is to happen when, by key
    keyed_heap    keys by rank, any of which can be taken out
    record        what a journal keeps
    recovery      a broker's state out of records, and records out of its state
    restoration   sessions from the journal, and from other nodes
    transfer      sessions that come from other nodes, and go to them
    arrival       publications of other nodes
    figure        what is counted
    sys_topic     $SYS
    broker        all of it

The head of each module has the theory of its part.
"""
