"""SWICO divided into arcs of the ring, for instances of millions of nodes."""
