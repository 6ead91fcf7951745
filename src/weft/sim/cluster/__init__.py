"""A whole network in one process, under virtual time, from one seed: clients, nodes, a master, disks and wires.

    agenda    what happens when
    wire      connections that carry bytes in order, are slow, break, and are cut
    end       ends of wires at a node: of clients and of links
    process   a node with its disk: started, crashed, restarted
    direction the master with its store: started, crashed, restarted
    client    an MQTT client that keeps a history
    cluster   all of them
    oracle    who must have got what, from what clients did and saw alone

The nodes and the master are the ones of the live network; what is simulated is their surroundings.
"""
