"""Publications in bulk: the decisions of weft.protocol over arrays, and what is counted on the way."""
