"""Access: who may come in, and who may do what. Time is an argument; files and sockets are `live`'s.

    filter        which filters cover or touch which
    rights        what users may publish and subscribe to, out of a text that users of Mosquitto know
    name          a user's client ids are its own: the name of a session has both
    password      scrypt
    user          users and their passwords, out of a text
    web_token     JWT in the place of a password
    limit         connections and attempts by address, failed log-ins slowed
    page          what web pages may ask of a port
    guard         all of that together: who a client is, or why it is refused
    authority     certificates of a cluster: its authority, nodes, master, operators
    badge         who a certificate says somebody is, and what that one may do
    join_token    the word with which a new node asks for its certificate, once

`broker` and `master` ask, `live` reads the files and does the TLS.
"""
