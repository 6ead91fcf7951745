"""SWICO divided: who is alike, a ring of them, and what is left to join between the arcs of the ring."""
