"""Retained messages: the last of each topic that was published with RETAIN; an empty one takes it away.

Whether a publisher may still write is asked when its message is given, for it may lose the right in the meantime
(CVE-2018-12546 of Mosquitto). The message is kept: rights come back, and other nodes have theirs.
"""

from collections.abc import Iterator
from dataclasses import replace

from weft.access.guard import SYS, Guard
from weft.broker.deadline import Deadlines
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.publication import Publication
from weft.broker.record import Retained, Unretained
from weft.broker.replica import Replica
from weft.model.name_index import NameIndex


class RetainedMessages:
    def __init__(
        self,
        outbox: Outbox,
        deadlines: Deadlines,
        figures: Figures,
        most: int,
        guard: Guard,
        replica: Replica | None = None,
    ) -> None:
        self._outbox = outbox
        self._expiries = deadlines.timer(self._expire)  # by name
        self._figures = figures
        self._most = most
        self._guard = guard
        self.replica = replica  # in a network
        self.by_name: NameIndex[Publication] = NameIndex()
        self._serial = 0  # of what was published and retained last

    def has_room(self, publication: Publication) -> bool:
        known = self.by_name.get(publication.topic.decode()) is not None
        return known or not publication.payload or len(self.by_name) < self._most

    def publish(self, publication: Publication) -> None:
        """What was published with RETAIN, and goes to all who have subscribed."""
        self._serial += 1
        publication.kept = self._serial
        self.keep(publication)

    def keep(self, publication: Publication) -> None:
        """Retain it. $SYS is made anew and not journaled."""
        name = publication.topic.decode()
        durable = not name.startswith(SYS)
        if self.replica is not None and durable:
            if not self.replica.is_news(publication):
                return
            self.replica.note(publication)
        if publication.payload:
            self.restore(publication)
            if durable:
                self._outbox.append(Retained(publication))
        elif self.remove(name) and durable:
            self._outbox.append(Unretained(name))

    def latest(self, topic: bytes) -> Publication | None:
        """Latest of a topic, also if it took away what was retained; in a network only."""
        return self.replica.latest(topic.decode()) if self.replica is not None else None

    def recover(self, publication: Publication) -> None:
        """What the journal had."""
        self.restore(publication)
        if self.replica is not None:
            self.replica.note(publication)

    def restore(self, publication: Publication) -> None:
        name = publication.topic.decode()
        self.by_name[name] = publication
        self._figures.retained = len(self.by_name)
        if publication.expires is not None:
            self._expiries.at(publication.expires, name)
        else:
            self._expiries.drop(name)

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        self._expiries.drop(name)
        was_there = self.by_name.pop(name) is not None
        self._figures.retained = len(self.by_name)
        return was_there

    def walk(self, pattern: str, now: float) -> Iterator[Publication | None]:
        """What a filter matches now, in steps, between which others are retained: these are not among them."""
        last = self._serial
        for found in self.by_name.walk(pattern):
            one = found[1] if found is not None else None
            is_due = one is not None and one.kept <= last and self.may_be_given(one, now)
            yield one if is_due else None

    def may_be_given(self, publication: Publication, now: float) -> bool:
        """Whether it is still valid, and its publisher may still write it. $SYS is nobody's."""
        if publication.expires is not None and publication.expires <= now:
            return False
        name = publication.topic.decode()
        return name.startswith(SYS) or self._guard.may_write(publication.publisher, name)

    def _expire(self, name: str, now: float) -> None:
        """Take it away, with its stamp: what it took the place of must not come back from a node that was apart."""
        publication = self.by_name.get(name)
        assert publication is not None
        self.remove(name)
        if self.replica is not None:
            self.replica.note(replace(publication, payload=b"", properties={}, expires=None))
        self._outbox.append(Unretained(name))
