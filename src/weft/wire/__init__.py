"""Bytes and values: MQTT packets, records of the journal. Incremental, without input or output of its own."""
