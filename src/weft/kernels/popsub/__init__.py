"""PopSub's brokers under virtual time: the decisions of weft.protocol.popsub over arrays."""
