"""Vitis networks in rounds, all nodes at once: the decisions of weft.protocol.vitis over arrays."""
