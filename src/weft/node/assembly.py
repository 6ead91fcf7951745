"""Parts of a node, put together: each is given the few others that it needs.

Those below do not know those above them:

    what is known       atlas, seen, debts, custody, directory, reliance, destinations
    what travels        carrier, unicast, outbox
    sessions            promises, trails, fetches, admissions, memory, moving
    publications        groups, issuing, attempts, arrivals, retention, traces, lane
    links and master    grafting, links, absences, assignments, registration, measurements
    the broker          local, with which all of the above act on clients

Some know each other both ways all the same, above all the broker and who acts on it: the first is given a function,
which looks for the second when it is called. Nothing happens here, and nothing is decided: a part that needs a rule of
its own has a module of its own.
"""

from collections.abc import Callable
from itertools import count

from weft.access.guard import Guard
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import Event
from weft.broker.issuer import Issuer
from weft.broker.parameters import Parameters as BrokerParameters
from weft.node.absence import Absences
from weft.node.admission import Admissions
from weft.node.arrival import Arrivals
from weft.node.assignment import Assignments
from weft.node.atlas import Atlas
from weft.node.attempt import Attempts
from weft.node.carrier import Carrier
from weft.node.debt import Debts
from weft.node.destination import Destinations
from weft.node.directory import Directory
from weft.node.entry import Entries
from weft.node.fetch import Fetches
from weft.node.figure import Figures
from weft.node.grafting import Grafting
from weft.node.group import Groups
from weft.node.identity import Identity
from weft.node.issuing import Issuing
from weft.node.lane import Lane
from weft.node.lease import Reliance
from weft.node.link import Links
from weft.node.local_broker import LocalBroker
from weft.node.measurement import Measurements
from weft.node.moving import Moving
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.promise import Promises
from weft.node.record import Record
from weft.node.registration import Registration
from weft.node.retention import Retention
from weft.node.seen import Seen
from weft.node.session_memory import SessionMemory
from weft.node.trace import Traces
from weft.node.trail import Trails
from weft.node.unicast import Unicast
from weft.protocol.custody import Custody
from weft.wire.lease import LEASE


class Assembly:
    def __init__(
        self,
        identity: Callable[[], Identity],  # the driver may learn more of it
        parameters: BrokerParameters,
        network: Parameters,
        now: float,
        seed: int,
        durable: bool,
        position: int,
        version: str,
        guard: Guard | None,
    ) -> None:

        def happen(event: Event, then: float) -> None:
            local.handle(event, then)

        def keep(kept: Record) -> None:
            local.keep(kept)

        def reroute() -> None:
            lane.forget()
            broker.reroute()

        def forget_routes() -> None:
            lane.forget()
            destinations.forget()

        self.issuer = issuer = Issuer(lambda one: destinations.is_wanted(one), lambda name: destinations.lead(name))
        issuer.incarnation = identity().incarnation
        self.broker = broker = Broker(parameters, now, seed, durable, position, version, issuer, guard)
        assert broker.replica is not None
        self.outbox = outbox = Outbox()
        self.deadlines = deadlines = Deadlines()
        self.figures = figures = Figures()

        # What is known, and what travels
        self.atlas = atlas = Atlas()
        self.seen = seen = Seen(network.memory)
        self.debts = debts = Debts(network)
        self.custody = custody = Custody()
        self.directory = directory = Directory(atlas, outbox, deadlines, LEASE, broker.session)
        self.reliance = reliance = Reliance(
            network.lease, deadlines, network.doubt, broker.reroute, lambda then: attempts.dispel(then)
        )
        self.carrier = carrier = Carrier(atlas, custody, seen, figures, network)
        self.unicast = unicast = Unicast(atlas, outbox)
        entries = Entries(parameters.cached_names)
        self.destinations = destinations = Destinations(
            atlas,
            carrier,
            entries,
            reliance,
            broker.groups,
            lambda name: trails.matching(name),
            reroute,
            parameters.cached_names,
        )

        # Sessions
        self.promises = promises = Promises(position, unicast.send)
        self.trails = trails = Trails(
            broker, atlas, carrier, deadlines, promises, network.linger, unicast.send, keep, destinations.forget
        )
        tokens = count(1)
        self.fetches = fetches = Fetches(
            broker,
            atlas,
            deadlines,
            network.patience,
            network.moving,
            tokens,
            lambda client: directory.claims.get(client, 0),
            lambda client: admissions.is_here(client),
            unicast.send,
            keep,
        )
        self.admissions = admissions = Admissions(
            broker, atlas, outbox, deadlines, network, fetches, tokens, happen, keep
        )
        self.memory = memory = SessionMemory(broker, seen, fetches, deadlines, network.linger, happen, keep)
        self.moving = moving = Moving(
            broker,
            atlas,
            directory,
            deadlines,
            figures,
            network,
            admissions,
            fetches,
            trails,
            promises,
            memory,
            happen,
            keep,
            unicast.send,
        )

        # Publications
        groups = Groups(broker, atlas, carrier, custody, happen)
        self.issuing = issuing = Issuing(
            atlas,
            carrier,
            custody,
            entries,
            destinations,
            groups,
            outbox,
            deadlines,
            figures,
            network.patience,
            issuer.next_origin,
        )
        self.attempts = attempts = Attempts(
            atlas,
            carrier,
            custody,
            debts,
            destinations,
            reliance,
            issuing,
            groups,
            broker.holds,
            deadlines,
            figures,
            network,
            issuer.numbered,
            keep,
            memory.offer,
            trails.send_after,
        )
        self.traces = traces = Traces(broker, carrier, destinations, issuing, outbox, issuer.next_origin)
        self.arrivals = Arrivals(
            broker,
            atlas,
            carrier,
            custody,
            figures,
            reliance,
            groups,
            trails,
            fetches,
            traces,
            happen,
            lambda publication, then: local.retain(publication, then),
            memory.offer,
        )
        self.retention = retention = Retention(
            broker.replica, atlas, outbox, deadlines, lambda publication, then: local.retain(publication, then)
        )
        self.lane = lane = Lane(atlas, carrier, issuing, issuer, seen, outbox, figures, broker)

        # Links and the master
        self.grafting = grafting = Grafting(atlas, carrier, outbox, deadlines, network.patience, forget_routes)
        self.links = Links(
            atlas, carrier, custody, outbox, broker.holds, deadlines, network, attempts, grafting, retention, lane
        )
        self.absences = absences = Absences(atlas, deadlines, debts, destinations, attempts, fetches, network.absence)
        self.assignments = assignments = Assignments(
            atlas,
            carrier,
            outbox,
            deadlines,
            grafting,
            directory,
            reliance,
            issuing,
            attempts,
            admissions,
            absences,
            retention,
            network.settling,
            forget_routes,
        )
        self.registration = Registration(
            identity,
            broker,
            issuer,
            atlas,
            carrier,
            directory,
            outbox,
            deadlines,
            network,
            issuing,
            fetches,
            assignments,
            forget_routes,
        )
        self.measurements = Measurements(
            atlas, outbox, deadlines, reliance.lease, issuing, debts, figures, broker.figures, network.measuring
        )

        # The broker
        self.local = local = LocalBroker(
            broker,
            atlas,
            seen,
            outbox,
            directory,
            destinations,
            issuing,
            attempts,
            admissions,
            fetches,
            moving,
            grafting,
            debts,
            durable,
            network.acknowledge == "tree",
        )
