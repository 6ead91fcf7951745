"""Notification and pull: what a node knows of publications on their way.

A node passes a notification on as soon as it comes, and asks the peer that sent it first for the content. That peer
answers when it has the content itself. If it does not answer for some rounds, the next that has sent the notification
is asked.
"""

from dataclasses import dataclass, field

from weft.protocol.router import Publication

Key = tuple[int, int]  # issuer and number


@dataclass
class Story:
    """Of one publication at this node."""

    topic: int
    hops: int
    since: int  # round
    notifiers: list[int] = field(default_factory=list)  # not asked yet, in the order they came
    waiting: set[int] = field(default_factory=set)  # for the content
    publication: Publication | None = None
    risen: bool = False  # sent on towards the rendezvous node
    asked: int = 0  # the round of the last pull


class Stories:
    def __init__(self, patience: int, memory: int) -> None:
        self.patience, self.memory = patience, memory  # rounds
        self.known: dict[Key, Story] = {}

    def begin(self, key: Key, topic: int, hops: int, when: int) -> Story:
        story = self.known[key] = Story(topic, hops, when, asked=when)
        return story

    def next_pulls(self, when: int) -> list[tuple[int, Key]]:
        """Whom to ask for what, now that those who were asked have not answered; forgets what is old."""
        self.known = {key: story for key, story in self.known.items() if when - story.since < self.memory}
        pulls = []
        for key, story in self.known.items():
            if story.publication is None and story.notifiers and when - story.asked >= self.patience:
                story.asked = when
                pulls.append((story.notifiers.pop(0), key))
        return pulls
