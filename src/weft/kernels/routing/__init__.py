"""Publications in bulk: the decisions of weft.protocol over arrays, and the counts of messages."""
