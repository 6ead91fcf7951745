"""Whether something may be published now: one question, whoever asks it, for PUBLISH and for wills.

What a client has a right to say can change until it is said, and so can the room that there is for it. So a will is
asked about when it is due, as a PUBLISH when it comes.
"""

from dataclasses import dataclass

from weft.access.guard import Guard
from weft.broker.publication import Publication
from weft.broker.retained import RetainedMessages
from weft.wire.mqtt.reason import Reason

ALLOWED, SHORT = 1_000, 256  # names that a client may publish on, at hand, and bytes of each


@dataclass(slots=True)
class Fullness:
    """Whether the journal can take more."""

    full: bool = False


class Permission:
    def __init__(self, guard: Guard, retained: RetainedMessages) -> None:
        self._guard = guard
        self._retained = retained
        self.journal = Fullness()

    def refusal(self, publication: Publication, allowed: set[bytes] | None = None) -> Reason | None:
        """What speaks against it. In `allowed` is noted what its client may publish on; the lanes look there."""
        if not self._is_allowed(publication, allowed):
            return Reason.NOT_AUTHORIZED
        if publication.qos and self.journal.full:
            return Reason.QUOTA_EXCEEDED
        if publication.retain and not self._retained.has_room(publication):
            return Reason.QUOTA_EXCEEDED
        return None

    def _is_allowed(self, publication: Publication, allowed: set[bytes] | None) -> bool:
        topic = publication.topic
        if allowed is not None and topic in allowed:
            return True
        if not self._guard.may_write(publication.publisher, topic.decode()):
            return False
        if allowed is not None and len(topic) <= SHORT:
            if len(allowed) >= ALLOWED:
                allowed.clear()
            allowed.add(topic)
        return True
