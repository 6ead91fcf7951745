"""Bytes and values: MQTT packets, frames between nodes, records of the journal. Incremental, without I/O."""
