"""Trees of an overlay's links, one a topic, that publications travel on."""
