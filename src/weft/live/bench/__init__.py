"""Load for any MQTT broker or fleet, and what came of it: `weft bench`.

Subscribers and publishers are raw sockets in processes of their own. A publication says which **stream** it is of (a
publisher and a topic), its number in it, and when it was sent; so that subscribers can tell what is missing, what came
twice and what came in the wrong order, and how long it took. All packets of a run have the same length: publishers fill
arrays of them and write blocks, subscribers read blocks and look at them as arrays.
"""
