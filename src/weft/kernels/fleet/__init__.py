"""Fleets of brokers: what publications cost over bridges, and places for clients."""
