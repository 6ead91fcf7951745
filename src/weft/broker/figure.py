"""What a broker counts, and how $SYS shows it: the topics that users of Mosquitto know, and their units."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Figures:
    started: float = 0.0  # seconds since 1970
    connections: int = 0  # open, without those that are being closed
    connected: int = 0  # clients
    most_connected: int = 0
    sessions: int = 0  # with those of clients that are away
    expired: int = 0  # sessions that ended while their clients were away
    subscriptions: int = 0
    shared_subscriptions: int = 0
    retained: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0
    packets_received: int = 0
    packets_sent: int = 0
    publications_received: int = 0
    publications_sent: int = 0
    publication_bytes_received: int = 0
    publication_bytes_sent: int = 0
    dropped: int = 0  # publications that a queue or a client that is stuck did not take
    refused: int = 0  # connections
    waiting: int = 0  # publications in queues of sessions
    disk_full: int = 0  # 1 while the journal has no room


MINUTES = (1, 5, 15)
LOADS = {
    "messages/received": "packets_received",
    "messages/sent": "packets_sent",
    "publish/received": "publications_received",
    "publish/sent": "publications_sent",
    "publish/dropped": "dropped",
    "bytes/received": "bytes_received",
    "bytes/sent": "bytes_sent",
}


class Loads:
    """Moving averages, as Mosquitto's: what came since the last look, a minute, weighed by how long that is ago."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}
        self._means: dict[tuple[str, int], float] = {}

    def update(self, figures: Figures, seconds: float) -> Iterator[tuple[str, float]]:
        for name, counted in LOADS.items():
            total = getattr(figures, counted)
            rate = (total - self._before.get(name, 0)) * 60 / seconds
            self._before[name] = total
            for minutes in MINUTES:
                weight = min(1.0, seconds / (60 * minutes))
                mean = self._means.get((name, minutes), 0.0)
                self._means[name, minutes] = mean + weight * (rate - mean)
                yield f"load/{name}/{minutes}min", self._means[name, minutes]


def topics(figures: Figures, now: float, version: str) -> dict[str, str]:
    """Values by topic, behind $SYS/broker/."""
    away = figures.sessions - figures.connected
    return {
        "version": f"weft version {version}",
        "uptime": f"{int(now - figures.started)} seconds",
        "clients/total": str(figures.sessions),
        "clients/connected": str(figures.connected),
        "clients/active": str(figures.connected),
        "clients/disconnected": str(away),
        "clients/inactive": str(away),
        "clients/maximum": str(figures.most_connected),
        "clients/expired": str(figures.expired),
        "subscriptions/count": str(figures.subscriptions),
        "shared_subscriptions/count": str(figures.shared_subscriptions),
        "retained messages/count": str(figures.retained),
        "messages/stored": str(figures.retained + figures.waiting),
        "store/messages/count": str(figures.retained + figures.waiting),
        "messages/received": str(figures.packets_received),
        "messages/sent": str(figures.packets_sent),
        "publish/messages/received": str(figures.publications_received),
        "publish/messages/sent": str(figures.publications_sent),
        "publish/messages/dropped": str(figures.dropped),
        "publish/bytes/received": str(figures.publication_bytes_received),
        "publish/bytes/sent": str(figures.publication_bytes_sent),
        "bytes/received": str(figures.bytes_received),
        "bytes/sent": str(figures.bytes_sent),
    }
