"""Sockets, disks and clocks around what decides: the only place with asyncio."""
