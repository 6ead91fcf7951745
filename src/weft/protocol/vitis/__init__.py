"""Vitis: an overlay that nodes weave by gossip, each for itself, and rendezvous routing between its clusters."""
