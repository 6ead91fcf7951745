"""What is known of a connection when it is made. Ten thousand connections from one address share one value."""

from functools import lru_cache

from weft.access.guard import Visitor


@lru_cache(4096)
def visitor_of(host: str, certificate: str | None, anonymous: bool) -> Visitor:
    return Visitor(host, certificate, anonymous)
