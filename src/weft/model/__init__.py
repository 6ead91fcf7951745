"""Values over arrays: instance, overlay, ring, publications, latency."""
