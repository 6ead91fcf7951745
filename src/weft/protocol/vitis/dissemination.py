"""Dissemination: notifications of publications, and the pulls of their content.

A notification goes from subscriber to subscriber in a cluster; from gateways up to the rendezvous node, whether the
relays between them know of the path already or not; and from relays down all paths that lead to them. A node without
interest, be it the issuer, sends it up.

A node passes a notification on as soon as it comes, and asks the peer that sent it first for the content. That peer
answers when it has the content itself. If it does not answer for some rounds, the next that has sent the notification
is asked, and after the last the first again: it may be the pull that was lost.
"""

from dataclasses import dataclass, field

from weft.protocol.router import Deliver, Effect, Publication, Send
from weft.protocol.vitis.message import Notification, Pull, Pulled, Way
from weft.protocol.vitis.neighbourhood import Neighbourhood

Key = tuple[int, int]  # issuer and number


@dataclass
class Story:
    """State of one publication at this node."""

    topic: int
    hops: int
    since: int  # round
    notifiers: list[int] = field(default_factory=list)  # in the order they came, which is that of asking them
    waiting: set[int] = field(default_factory=set)  # for the content
    publication: Publication | None = None
    risen: bool = False  # sent on towards the rendezvous node
    asked: int = 0  # the round of the last pull
    pulls: int = 1  # sent so far


class Stories:
    def __init__(self, patience: int, memory: int) -> None:
        self.patience, self.memory = patience, memory  # rounds
        self.known: dict[Key, Story] = {}

    def begin(self, key: Key, topic: int, hops: int, when: int) -> Story:
        story = self.known[key] = Story(topic, hops, when, asked=when)
        return story

    def next_pulls(self, when: int) -> list[tuple[int, Key]]:
        """Peers to ask, and for what, where those who were asked have not answered; forgets what is old."""
        self.known = {key: story for key, story in self.known.items() if when - story.since < self.memory}
        pulls = []
        for key, story in self.known.items():
            if story.publication is None and story.notifiers and when - story.asked >= self.patience:
                pulls.append((story.notifiers[story.pulls % len(story.notifiers)], key))
                story.asked, story.pulls = when, story.pulls + 1
        return pulls


class Dissemination:
    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self.neighbourhood = neighbourhood
        self.stories = Stories(neighbourhood.parameters.patience, neighbourhood.parameters.memory)

    def publish(self, publication: Publication, when: int) -> list[Effect]:
        found = publication.issuer, publication.number
        story = self.stories.begin(found, publication.topic, 0, when)
        story.publication = publication
        return self._notify(found, story, None, Way.CLUSTER)

    def notified(self, sender: int, notification: Notification, when: int) -> list[Effect]:
        found = notification.issuer, notification.number
        known = self.stories.known.get(found)
        if known is None:
            story = self.stories.begin(found, notification.topic, notification.hops, when)
            story.notifiers.append(sender)
            pull = Send(sender, Pull(notification.topic, *found))
            return [pull, *self._notify(found, story, sender, notification.way)]
        known.notifiers.append(sender)
        up = self._rise(known, sender, notification.way) if notification.way is Way.UP else None
        return [] if up is None else [Send(up, Notification(known.topic, *found, known.hops + 1, Way.UP))]

    def _notify(self, found: Key, story: Story, sender: int | None, way: Way) -> list[Effect]:
        topic = story.topic
        wants, children = topic in self.neighbourhood.interest, self.neighbourhood.relays.children(topic)
        ways = dict.fromkeys(
            (peer.node for peer in self.neighbourhood.lately.values() if wants and topic in peer.interest), Way.CLUSTER
        )
        ways |= dict.fromkeys(children, Way.DOWN)
        if sender is not None:
            ways.pop(sender, None)
        rises = way is Way.UP or children or self.neighbourhood.is_gateway(topic) or not wants
        up = self._rise(story, sender, way) if rises else None
        if up is not None:
            ways[up] = Way.UP
        return [Send(peer, Notification(topic, *found, story.hops + 1, ways[peer])) for peer in sorted(ways)]

    def _rise(self, story: Story, sender: int | None, way: Way) -> int | None:
        """The next hop to the rendezvous node, once; nobody if the notification comes from there."""
        if story.risen:
            return None
        story.risen = True
        up = self.neighbourhood.next_hop(story.topic)
        return None if up == sender and way is Way.DOWN else up

    def pulled_by(self, peer: int, found: Key) -> list[Effect]:
        story = self.stories.known.get(found)
        if story is None:
            return []
        if story.publication is None:
            story.waiting.add(peer)
            return []
        return [Send(peer, Pulled(story.publication, story.hops + 1))]

    def pulled(self, publication: Publication) -> list[Effect]:
        story = self.stories.known.get((publication.issuer, publication.number))
        if story is None or story.publication is not None:
            return []
        story.publication = publication
        wants = publication.topic in self.neighbourhood.interest and publication.issuer != self.neighbourhood.node
        deliver: list[Effect] = [Deliver(publication, story.hops)] if wants else []
        waiting, story.waiting = sorted(story.waiting), set()
        return [*deliver, *(Send(peer, Pulled(publication, story.hops + 1)) for peer in waiting)]

    def pull_again(self, when: int) -> list[Effect]:
        """What has been asked for in vain; at the beginning of a round."""
        pulls = self.stories.next_pulls(when)
        return [Send(peer, Pull(self.stories.known[found].topic, *found)) for peer, found in pulls]
