"""What brokers remember of publications, so that a change of way neither loses any nor delivers any twice."""

from collections import deque
from math import inf

from weft.protocol.popsub.message import Publication


class Seen:
    """The publications that came to a broker, by advertisement and number, for as long as a copy may be under way."""

    def __init__(self, memory: float) -> None:
        self.memory = memory  # milliseconds
        self._known: set[tuple[int, int]] = set()
        self._by_time: deque[tuple[float, int, int]] = deque()

    def __contains__(self, name: tuple[int, int]) -> bool:
        return name in self._known

    def is_new(self, advertisement: int, number: int, now: float) -> bool:
        """Whether it is seen for the first time; from now on it is not."""
        if (advertisement, number) in self._known:
            return False
        while self._by_time and self._by_time[0][0] + self.memory < now:
            self._known.remove(self._by_time.popleft()[1:])
        self._known.add((advertisement, number))
        self._by_time.append((now, advertisement, number))
        return True


class Issued:
    """What an issuer gave to gossip, until it was announced to every subscriber and each could ask for it."""

    def __init__(self, sweep_time: float, answer_time: float) -> None:
        self.sweep_time = sweep_time  # milliseconds
        self.answer_time = answer_time
        self.next_sweep = inf
        self._unannounced: dict[int, tuple[float, Publication]] = {}  # with the time when it was given, oldest first
        self._announced: deque[tuple[float, Publication]] = deque()  # with the time at which it is forgotten

    def is_new(self, publication: Publication, now: float) -> bool:
        """Whether it was not given before; from now on it was."""
        if publication.number in self._unannounced:
            return False
        if not self._unannounced:
            self.next_sweep = now + self.sweep_time
        self._unannounced[publication.number] = (now, publication)
        return True

    @property
    def digest(self) -> tuple[int, ...]:
        """Numbers of what has not been announced to every subscriber."""
        return tuple(self._unannounced)

    def announce(self, now: float, since: float = inf) -> tuple[int, ...]:
        """Numbers of what was given until then, which from now on has been announced."""
        old = [publication for given, publication in self._unannounced.values() if given <= since]
        for publication in old:
            del self._unannounced[publication.number]
            self._announced.append((now + self.answer_time, publication))
        self.next_sweep = min((given for given, _ in self._unannounced.values()), default=inf) + self.sweep_time
        return tuple(publication.number for publication in old)

    def find(self, numbers: tuple[int, ...]) -> list[Publication]:
        announced = {publication.number: publication for _, publication in self._announced}
        kept = announced | {number: publication for number, (_, publication) in self._unannounced.items()}
        return [kept[number] for number in numbers if number in kept]

    def forget(self, now: float) -> None:
        while self._announced and self._announced[0][0] < now:
            self._announced.popleft()

    @property
    def empty(self) -> bool:
        return not self._unannounced and not self._announced
