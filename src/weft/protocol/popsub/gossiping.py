"""The hand-over between tree and gossip (section 4.5, Algorithms 4 and 5), and what a broker knows of gossip groups.

There is a group for every advertisement that is unpopular on some link of its issuer. Its members are the issuer and
the brokers behind these links that have a subscription which intersects the advertisement: they join when a publication
asks them to, or when the issuer does because they subscribed later.

Nothing is lost, because the issuer keeps what it gives to gossip until it has announced the numbers to every subscriber
down the tree, and they had time to ask: when it switches a link back to the tree, when it withdraws the
advertisement, and round by round what gossip has had its time for. What is younger is not announced: members would ask
for what gossip is about to bring. Nothing comes twice, because brokers remember what they have seen.

Without `sweep` it is as the paper has it: the issuer keeps a publication for the time that a hand-over takes, and what
gossip does not bring is lost.
"""

from collections.abc import Sequence
from math import inf
from random import Random

from weft.protocol.popsub.gossip import Member
from weft.protocol.popsub.memory import Issued, Seen
from weft.protocol.popsub.message import Forward, Gossip, Join, Publication, Retrieve, Retrieved, Sweep, Switch
from weft.protocol.popsub.parameters import Parameters
from weft.protocol.popsub.table import Entry, Route, RoutingTable
from weft.protocol.router import Effect, Send


class Gossiping:
    def __init__(self, node: int, parameters: Parameters, table: RoutingTable, seen: Seen, random: Random) -> None:
        self.node = node
        self.parameters = parameters
        self.table = table
        self.seen = seen
        self.random = random
        self.groups: dict[int, Member] = {}  # by advertisement
        self.latest: dict[int, int] = {}  # the number last issued under each own advertisement
        self._issued: dict[int, Issued] = {}  # by advertisement
        self._asked: dict[tuple[int, int], float] = {}  # when, by advertisement and number
        self._switched: dict[int, tuple[int, Switch]] = {}  # by which publication an advertisement was last switched

    # At the issuer.

    def switch_over(self, publication: Publication, entry: Entry, now: float) -> Forward:
        """The publication by which the subscribers behind a link join."""
        entry.gossips = True
        return Forward(publication, 1, Switch.GOSSIP, view=self._own_group(publication.topic, now))

    def switch_back(self, publication: Publication, entry: Entry, now: float) -> Forward:
        """The publication by which the subscribers behind a link leave, with what to ask for if they lack it."""
        entry.gossips = False
        issued = self._issued.get(publication.topic)
        digest = issued.digest if issued else ()
        self._end_unless_used(publication.topic, now)
        return Forward(publication, 1, Switch.TREE, digest=digest)

    def issue(self, publication: Publication, now: float) -> None:
        """Gossip a publication to the group, which is one for all links."""
        keep = Issued(self.parameters.sweep_time, self.parameters.answer_time)
        if self._issued.setdefault(publication.topic, keep).is_new(publication, now):
            self.groups[publication.topic].push(publication, now)

    def subscribed(self, route: Route) -> list[Effect]:
        """Invite a subscriber that came after the switch, by a message of its own."""
        if route.link is None:
            return []
        return [
            effect for advertisement in sorted(route.heads_for) for effect in self.invite(route.origin, advertisement)
        ]

    def invite(self, peer: int, advertisement: int) -> list[Effect]:
        """Ask a broker to join that has a subscription behind a link which gossips."""
        entries = (entry for _, entry in self.table.entries_of(advertisement))
        if not any(entry.gossips and peer in entry.origins for entry in entries):
            return []
        return [Send(peer, Join(advertisement, self.node, self.latest[advertisement], self._view(advertisement)))]

    def sweep(self, advertisement: int, now: float, since: float = inf) -> list[Effect]:
        """Announce to every subscriber what was gossiped until then and not announced before."""
        issued = self._issued.get(advertisement)
        digest = issued.announce(now, since) if issued else ()
        if not digest or not self.parameters.sweep:
            return []
        message = Sweep(advertisement, self.node, digest)
        return [Send(link, message) for link, entry in sorted(self.table.entries_of(advertisement)) if entry.gossips]

    def _end_unless_used(self, advertisement: int, now: float) -> None:
        """End an own group if no link gossips any more: all of them have been informed."""
        if not any(entry.gossips for _, entry in self.table.entries_of(advertisement)):
            self.groups.pop(advertisement, None)
            if advertisement in self._issued:
                self._issued[advertisement].announce(now)

    def _own_group(self, advertisement: int, now: float) -> tuple[int, ...]:
        if advertisement not in self.groups:
            self.groups[advertisement] = self._member(advertisement, self.node, now)
        return self._view(advertisement)

    def _view(self, advertisement: int) -> tuple[int, ...]:
        return (self.node, *self.groups[advertisement].view)

    # At subscribers.

    def switched(self, message: Forward, now: float) -> list[Effect]:
        """Join or leave, unless a later publication has switched otherwise."""
        publication = message.publication
        advertisement = publication.topic
        if advertisement not in self.table.sources or not self._is_latest(advertisement, publication.number):
            return []
        self._switched[advertisement] = publication.number, message.switch
        if message.switch is Switch.GOSSIP:
            return self._join(advertisement, publication.issuer, message.view, now)
        asking = self.ask(publication.issuer, advertisement, message.digest, now)
        return asking + self._leave(advertisement, now)

    def invited(self, join: Join, now: float) -> list[Effect]:
        number, switch = self._switched.get(join.advertisement, (-1, Switch.NONE))
        if switch is Switch.TREE and join.latest <= number:
            return []
        return self._join(join.advertisement, join.issuer, join.view, now)

    def unsubscribed(self, route: Route, now: float) -> list[Effect]:
        """End or leave the groups that nobody needs without this subscription."""
        effects: list[Effect] = []
        for advertisement in sorted(route.heads_for & self.groups.keys()):
            if advertisement in self.latest:
                self._end_unless_used(advertisement, now)
            elif not self.table.own_interest(advertisement):
                effects += self._leave(advertisement, now)
        return effects

    def unadvertised(self, advertisement: int) -> None:
        self.groups.pop(advertisement, None)
        self.latest.pop(advertisement, None)
        self._switched.pop(advertisement, None)

    def _is_latest(self, advertisement: int, number: int) -> bool:
        return number >= self._switched.get(advertisement, (-1, Switch.NONE))[0]

    def _join(self, advertisement: int, issuer: int, view: tuple[int, ...], now: float) -> list[Effect]:
        if not self.table.own_interest(advertisement):
            return []
        member = self.groups.get(advertisement)
        if member:
            member.meet(view)
            return []
        member = self.groups[advertisement] = self._member(advertisement, issuer, now)
        member.meet(view)
        return [*member.announce()]

    def _leave(self, advertisement: int, now: float) -> list[Effect]:
        member = self.groups.pop(advertisement, None)
        return [*member.leave(now)] if member else []

    def _member(self, advertisement: int, issuer: int, now: float) -> Member:
        return Member(self.node, advertisement, issuer, self.parameters, self.random, now)

    # Among members.

    def heard(self, sender: int, gossip: Gossip, now: float) -> tuple[list[Publication], list[Effect]]:
        """The publications that are new here, and what to say."""
        advertisement = gossip.advertisement
        member = self.groups.get(advertisement)
        if member:
            member.hear(sender, gossip, now)
        if advertisement in self.latest:  # its issuer has them all
            return [], []
        new = self._new(gossip.publications, now)
        if member:
            for publication in new:
                member.push(publication, now)
        since = now - self.parameters.answer_time  # an answer to what was asked after that may be under way
        digest = [number for number in gossip.digest if self._asked.get((advertisement, number), -inf) < since]
        return new, self.ask(sender, advertisement, digest, now)

    def ask(self, peer: int, advertisement: int, digest: Sequence[int], now: float) -> list[Effect]:
        """Ask a peer for what is not here yet."""
        lacking = tuple(number for number in digest if (advertisement, number) not in self.seen)
        if not lacking or not self.table.own_interest(advertisement):
            return []
        self._asked.update(((advertisement, number), now) for number in lacking)
        return [Send(peer, Retrieve(advertisement, lacking))]

    def answer(self, peer: int, advertisement: int, numbers: tuple[int, ...]) -> list[Effect]:
        keepers = self._issued.get(advertisement), self.groups.get(advertisement)
        kept = {said.number: said for keeper in keepers if keeper for said in keeper.find(numbers)}
        found = tuple(kept[number] for number in numbers if number in kept)
        return [Send(peer, Retrieved(found))] if found else []

    def retrieved(self, publications: Sequence[Publication], now: float) -> list[Publication]:
        """The publications that are new here."""
        new = self._new(publications, now)
        for publication in new:
            if publication.topic in self.groups:
                self.groups[publication.topic].keep(publication, now)
        return new

    def _new(self, publications: Sequence[Publication], now: float) -> list[Publication]:
        return [said for said in publications if self.seen.is_new(said.topic, said.number, now)]

    # As time goes by.

    def next_deadline(self) -> float:
        rounds = (member.next_round for member in self.groups.values())
        sweeps = (issued.next_sweep for issued in self._issued.values())
        return min((*rounds, *sweeps), default=inf)

    def on_timer(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for advertisement in sorted(self._issued):
            if self._issued[advertisement].next_sweep <= now:
                effects += self.sweep(advertisement, now, now - self.parameters.sweep_age)
        for advertisement in sorted(self.groups):
            if self.groups[advertisement].next_round <= now:
                effects += self.groups[advertisement].gossip(now)
        return effects

    def forget(self, now: float) -> None:
        """What nobody can ask for any more."""
        for issued in self._issued.values():
            issued.forget(now)
        self._issued = {number: issued for number, issued in self._issued.items() if not issued.empty}
        since = now - self.parameters.answer_time
        self._asked = {name: asked for name, asked in self._asked.items() if asked >= since}

    def check_invariants(self) -> None:
        for advertisement, member in self.groups.items():
            member.check_invariants()
            assert advertisement in self.table.sources, f"a group gossips of advertisement {advertisement}, withdrawn"
