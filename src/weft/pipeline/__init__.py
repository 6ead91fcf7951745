"""Spark: from raw data to instances, overlays and figures."""
