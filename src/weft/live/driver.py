"""Drives a broker: events from sockets, timer and journal go in, effects are carried out in order.

Some effects cause events while they are carried out (a write that congests a socket); these wait their turn. An event
that cannot be carried out to its end ends the process (live/defect.py).
"""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from weft.access.guard import Access
from weft.broker.broker import Broker
from weft.broker.checking import AT_ONCE
from weft.broker.effect import (
    AccessChanged,
    Append,
    CheckPassword,
    Close,
    Effect,
    Event,
    Hold,
    JournalFilled,
    JournalFreed,
    LetIn,
    Note,
    PasswordChecked,
    Received,
    Resume,
    Send,
    Stopping,
    Unsay,
)
from weft.journal.event import AppendFailed, Broken, Compacted, CompactionFailed, Synced
from weft.journal.event import Event as JournalEvent
from weft.live.client import Client
from weft.live.clock import Clock
from weft.live.defect import Defects, fatal, place_of
from weft.live.disk import cut
from weft.live.journal import Journal
from weft.live.log import Log
from weft.live.process_metrics import process_metrics

if TYPE_CHECKING:
    from weft.node.node import Node

GOODBYE = 1.0  # seconds that clients have to take what they are sent at the end
LAST_READ = 0.2  # of those, after the journal is closed: what waited for it comes only then
LAST_SYNC = 0.4  # seconds that it has to be closed when there is no time for an end in order


class Driver:
    def __init__(self, broker: "Broker | Node", clock: Clock, log: Log, journal: Journal | None) -> None:
        self.broker = broker
        self._clock = clock
        self._log = log
        self.defects = Defects(log)
        self._journal = journal
        self._clients: dict[int, Client] = {}
        self._numbers = count(1)
        self._waiting: dict[Client, None] = {}  # for the journal
        self._events: deque[Event] = deque()
        self._busy = False
        self.gathering = False  # more events follow at once: what they lead to on links goes together
        self._records: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._lost: Client | None = None  # the last that has gone: of its end the broker hears next
        self._full = False
        self.is_ending = False
        self._checkers = ThreadPoolExecutor(AT_ONCE, "password")
        self.certificates: set[Path] = set()  # files of those that this process shows
        self.broken = asyncio.Event()  # the journal cannot go on
        self.ends = [self.broken]  # any of them ends the process

    def start(self) -> None:
        if self._journal is not None:
            self._journal.start(self._hear_journal, self.broker.records)
            tail = self._journal.found.tail
            if tail is not None and tail.torn:
                self._log.write("journal_cut", detail=cut(tail.torn))
        self._arm()

    def add(self, client: Client) -> int:
        number = next(self._numbers)
        self._clients[number] = client
        return number

    def remove(self, client: Client) -> None:
        self._clients.pop(client.number, None)
        self._waiting.pop(client, None)
        self._lost = client

    def await_sync(self, client: Client) -> None:
        self._waiting[client] = None

    @fatal
    def handle(self, event: Event) -> None:
        """Hand over an event; one that an effect has caused waits until the effects before it are carried out."""
        if self._busy:
            self._events.append(event)
        else:
            self.work(self.broker.handle(event, self._clock.now()))

    def read(self, connection: int, data: bytes) -> None:
        """Hand over what a client has sent."""
        if not self.is_ending:
            self.handle(Received(connection, data))

    @fatal
    def work(self, effects: list[Effect]) -> None:
        self._busy = True
        try:
            self._carry_out(effects)
            while self._events:
                self._carry_out(self.broker.handle(self._events.popleft(), self._clock.now()))
        finally:
            self._busy = False
        self._arm()

    def flush(self) -> None:
        """Send what was gathered for other nodes; a node alone has none."""

    def now(self) -> float:
        return self._clock.now()

    def end_soon(self) -> None:
        """Hear clients no more. This is called from a signal's handler: `stop` comes when the event loop comes to it,
        which must not work off what overloads it until then."""
        self.is_ending = True

    def renew_access(self, access: Access) -> None:
        """Users or rights have changed."""
        self.handle(AccessChanged(access))

    def metrics(self) -> str:
        """What Prometheus reads of this process, and of the network that it is part of."""
        return process_metrics(self._log, self.defects)

    async def stop(self) -> None:
        """Tell all clients, and wait until they are gone or have had their time.

        Without a journal that goes on nothing more can be promised: the node ends as if it had been killed.
        """
        goodbye = self._clock.now() + GOODBYE
        if not self.broken.is_set():
            self.handle(Stopping())
            await self.part()
        if self._journal is not None:
            await self._journal.close()
            self._release()
        self._checkers.shutdown(wait=False, cancel_futures=True)
        goodbye = max(goodbye, self._clock.now() + LAST_READ)
        while self._clients and not self.broken.is_set() and self._clock.now() < goodbye:
            await asyncio.sleep(0.02)
        for client in list(self._clients.values()):
            client.abort()

    def close_at_last(self) -> None:
        """What is left of an end in order when there is no time: from a thread, whatever the event loop does."""
        if self._journal is not None:
            self._journal.close_at_last(LAST_SYNC)

    async def part(self) -> None:
        """Wait until others have what they are owed; a node alone owes nobody."""

    def _carry_out(self, effects: list[Effect]) -> None:
        synced = self._journal.synced if self._journal is not None else 0
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                client = self._clients.get(effect.connection)  # type: ignore[attr-defined]
                if client is not None:
                    client.send(effect.data, effect.after, synced)  # type: ignore[attr-defined]
            elif kind is Append:
                self._records.append(effect.record)  # type: ignore[attr-defined]
            else:
                self._carry_out_one(effect)
        if self._records and self._journal is not None:
            records, self._records = self._records, []
            self._journal.append(records)
            if self._journal.synced > synced:  # where nothing waits
                self._release()

    def _carry_out_one(self, effect: Effect) -> None:
        match effect:
            case Close(number) if number in self._clients:
                self._clients[number].close()
            case Unsay(number) if number in self._clients:
                self._clients[number].unsay()
            case Hold(number) if number in self._clients:
                self._clients[number].pause()
            case Resume(number) if number in self._clients:
                self._clients[number].unpause()
            case LetIn(number) if number in self._clients:
                self._clients[number].let_in()
            case CheckPassword(number, password, kept):
                asyncio.get_running_loop().run_in_executor(self._checkers, kept.matches, password).add_done_callback(
                    lambda done: self._hear_check(number, done)
                )
            case Note(event, number, client, detail):
                self.defects.count += event == "defect"  # of a packet that could not be read
                self._log.write(event, client=client, peer=self._peer(number), connection=number or None, detail=detail)

    def _peer(self, number: int) -> str | None:
        client = self._clients.get(number)
        if client is None and self._lost is not None and self._lost.number == number:
            client = self._lost
        return None if client is None else client.peer()

    def _hear_check(self, number: int, done: asyncio.Future[bool]) -> None:
        """A check with a defect is one that failed: nothing was changed."""
        error = done.exception()
        if error is not None:
            self.defects.count += 1
            self._log.write("defect", connection=number, detail=place_of(error))
        self.handle(PasswordChecked(number, error is None and done.result()))

    @fatal
    def _hear_journal(self, event: JournalEvent) -> None:
        match event:
            case Synced():
                if self._full:
                    self._full = False
                    self._log.write("journal_has_room")
                    self.handle(JournalFreed())
                self._release()
            case AppendFailed(_, reason):
                if not self._full:
                    self._full = True
                    self._log.write("journal_full", detail=reason)
                    self.handle(JournalFilled())
            case Compacted(position, size):
                self._log.write("journal_compacted", position=position, bytes=size)
            case CompactionFailed(reason):
                self._log.write("journal_not_compacted", detail=reason)
            case Broken(reason):
                self._log.write("journal_broken", detail=reason)
                self.broken.set()

    def _release(self) -> None:
        assert self._journal is not None
        for client in list(self._waiting):
            if client.release(self._journal.synced):
                del self._waiting[client]

    def _arm(self) -> None:
        """One timer, for the next deadline. It may come too early; it is then armed again."""
        deadline = self.broker.next_deadline()
        if deadline is None or (self._timer_at is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = asyncio.get_running_loop().call_later(max(0.0, deadline - self._clock.now()), self._ring)

    @fatal
    def _ring(self) -> None:
        self._timer = self._timer_at = None
        self.work(self.broker.on_timer(self._clock.now()))
