"""Messages between nodes: how a publication is written into one, whom each is for, and what it is numbered by.

A publication of a client may travel as several messages, all with the content that it was written into once:

    topic of a filter       on that filter's tree
    EVERYBODY               on the tree of all nodes, to be kept there as retained
    group = DIRECT node     to one node that was down, which is owed it; over the ring
    group = a shared filter to one node with members, who chooses one of them; over the ring
    group = SESSION client  to the node that has a client's session by now; over the ring

Its number (origin) says which of these are the same to a client. Those on trees and DIRECT are: a node takes the first.
One for a shared filter, for a session, or to be retained is a publication of its own: a node that is a member of the
tree as well gets both. Custody is kept by attempt, so that an old one cannot be taken for a new one (`key_of`).
"""

from weft.broker.publication import Origin, Publication
from weft.wire import content
from weft.wire.content import Content
from weft.wire.frame import EVERYBODY, Form, Message, topic_of

DIRECT = "$weft/direct/"  # and the node's number, for another may have its place on the ring by then
SESSION = "$weft/session/"  # and the client

Key = tuple[int, int, int, int]  # issuer, incarnation, count, attempt


def message_for(publication: Publication, own: tuple[int, int], now: float) -> Message:
    """A message on no tree yet, issued by a node unless the publication has a number."""
    issuer, incarnation, count = publication.origin or (*own, 0)
    written = content.encode(content_of(publication, publication.retain, now))
    return Message(Form.WOVEN, 0, issuer, incarnation, count, 0, written)


def on_tree(message: Message, topic: int) -> Message:
    """The same on a tree."""
    return Message(
        message.form,
        topic,
        message.issuer,
        message.incarnation,
        message.count,
        message.hops,
        message.content,
        message.kept,
        message.attempt,
        message.floor,
        token=message.token,
    )


def for_group(message: Message, filter_: str, count: int) -> Message:
    """The same for a shared filter, with the count of the publication that it is part of in the place of a topic.

    Issued again by a node that was restarted it has another number, and is the same to who has got it.
    """
    part = on_tree(message, count)
    part.group = filter_
    return part


def for_node(message: Message, ring_id: int, ring_size: int, group: str) -> Message:
    """The same for the one node at a place on the ring."""
    one = on_tree(message, message.topic if is_for_group(message) else EVERYBODY)
    one.form, one.low, one.high = Form.RANGED, ring_id, (ring_id + 1) % ring_size
    one.group = group
    return one


def is_for_many(message: Message) -> bool:
    """Whether it is for all clients that want it, wherever they are."""
    return not message.group or message.group.startswith(DIRECT)


def is_for_another(message: Message, node: int) -> bool:
    """Whether it is owed to another node than the one that it has come to."""
    return message.group.startswith(DIRECT) and message.group != f"{DIRECT}{node}"


def is_for_group(message: Message) -> bool:
    return not is_for_many(message) and not message.group.startswith(SESSION)


def is_for_all(message: Message) -> bool:
    """Whether it is to be kept by all nodes, as retained; to clients it goes on other trees."""
    return message.topic == EVERYBODY and not message.group


def key_of(message: Message) -> Key:
    return message.issuer, message.incarnation, message.count, message.attempt


def origin_of(message: Message) -> Origin:
    """Number of a publication, for nodes and sessions to know it again: one for a group or a session is another."""
    if not is_for_many(message):
        count = message.topic if is_for_group(message) else message.count
        return message.issuer, message.incarnation ^ topic_of(message.group), count
    if is_for_all(message):
        return message.issuer, message.incarnation ^ EVERYBODY, message.count
    return message.issuer, message.incarnation, message.count


def content_of(publication: Publication, retain: bool, now: float) -> Content:
    life = None if publication.expires is None else publication.expires - now
    return Content(
        publication.topic,
        publication.payload,
        publication.qos,
        retain,
        publication.properties,
        life,
        publication.publisher,
        publication.issued,
    )


def publication_of(one: Content, origin: Origin, now: float) -> Publication:
    expires = None if one.life is None else now + one.life
    made = Publication(one.name, one.payload, one.qos, one.retain, one.properties, expires, one.publisher)
    made.issued, made.origin = one.issued, origin
    return made
