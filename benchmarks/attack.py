"""What one client, or a few, can do to a broker so that others wait: a function each, in a table.

An attack prepares what it needs, calls `begin`, from when the waiting of others is measured, and attacks. What it has
opened is closed when it is over, and that is measured too. Numbers are those at full size; `many` makes them smaller
for a toy. All of it is bounded: a read waits for a minute at most, and a whole attack for `stall.LONGEST`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TypeVar

from stranger import (
    CONNACK,
    GOODBYE,
    NEVER,
    PING,
    PUBACK,
    PUBLISH,
    PUBREC,
    SUBACK,
    UNSUBACK,
    USER_PROPERTY,
    V5,
    V311,
    Stranger,
    aliases_of,
    client_hello,
    connect,
    joined,
    kept,
    new_name,
    publish,
    subscribe,
    unsubscribe,
    upgrade,
    will,
    ws_frame,
)
from weft.wire.mqtt.field import u16, u32, varint

MIB = 1 << 20
EXPIRES = b"\x02"  # property
ALIAS = b"\x23"
IDENTIFIER = b"\x0b"
WILL_DELAY = b"\x18"
OF_NO_VERSION = b"\x10\x0c\0\x04MQTT\x63\x02\0\0\0\0"  # a CONNECT

Item = TypeVar("Item")


def pieces(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while piece := tuple(islice(rest, size)):
        yield piece


@dataclass
class Site:
    """Where a broker listens, and how large an attack is."""

    port: int
    websocket: int
    second: int  # a node's --http; a second listener of Mosquitto
    link: int  # a node's --link; the same second listener of Mosquitto
    master: int  # of the node's network; again that listener
    tls: int
    begin: Callable[[], None]
    scale: float = 1.0
    strangers: list[Stranger] = field(default_factory=list)

    def many(self, count: int, least: int = 2) -> int:
        return max(least, int(count * self.scale))

    def join(self, version: int = V311, **options: object) -> Stranger:
        return self.opened(joined(self.port, version, **options))  # type: ignore[arg-type]

    def dial(self, port: int | None = None, **options: object) -> Stranger:
        return self.opened(Stranger(port or self.port, **options))  # type: ignore[arg-type]

    def opened(self, one: Stranger) -> Stranger:
        self.strangers.append(one)
        return one

    def retained(self, count: int, payload: bytes = b"x", prefix: str = "r", said: bytes = b"") -> None:
        """Fill a broker with retained messages."""
        self.say_all(publish(f"{prefix}/{n}", payload, retain=True, said=said) for n in range(count))

    def say_all(self, packets: Iterable[bytes]) -> None:
        one = self.join(V5)
        for some in pieces(packets, 500):
            one.say(*some)
        one.drained()
        one.leave()


def nothing(site: Site) -> None:
    site.begin()
    time.sleep(3.0 * min(1.0, site.scale * 10))


# Packets that are long


def properties_in_connect(site: Site) -> None:
    site.begin()
    one = site.dial()
    one.say(connect(version=V5, said=USER_PROPERTY * site.many(70_000)))
    one.hear(CONNACK)


def properties_in_will(site: Site) -> None:
    site.begin()
    one = site.dial()
    one.say(connect(version=V5, will=will("w", said=USER_PROPERTY * site.many(70_000))))
    one.hear(CONNACK)


def properties_in_publish(site: Site) -> None:
    _drained(site, publish("p", said=USER_PROPERTY * site.many(80_000)))


def properties_of_16_mib(site: Site) -> None:
    _drained(site, publish("p", said=USER_PROPERTY * site.many(2_390_000)))


def properties_in_subscribe(site: Site) -> None:
    _drained(site, subscribe(["s"], version=V5, said=USER_PROPERTY * site.many(80_000)))


def properties_in_unsubscribe(site: Site) -> None:
    _drained(site, unsubscribe(["s"], version=V5, said=USER_PROPERTY * site.many(80_000)))


def _drained(site: Site, said: bytes) -> None:
    one = site.join(V5)
    site.begin()
    one.say(said)
    one.drained()


def one_filter_again_and_again(site: Site) -> None:
    said = subscribe(["a"] * site.many(1_000_000))
    one = site.join()
    site.begin()
    one.say(said)
    one.hear(SUBACK)


def one_filter_given_up_again_and_again(site: Site) -> None:
    said = unsubscribe(["a"] * site.many(1_000_000))
    one = site.join()
    site.begin()
    one.say(said)
    one.hear(UNSUBACK)


def packet_in_drops(site: Site) -> None:
    said = publish("drops", bytes(site.many(4 * MIB)))
    one = site.join()
    site.begin()
    for start in range(0, len(said), 64):
        one.say(said[start : start + 64])
    one.drained()


# Large answers


def subscribe_to_retained(site: Site, count: int) -> None:
    count = site.many(count)
    site.retained(count)
    one = site.join()
    site.begin()
    one.say(subscribe(["r/#"]))
    one.hear(PUBLISH, count)


def retained_300_000(site: Site) -> None:
    subscribe_to_retained(site, 300_000)


def retained_100_000(site: Site) -> None:
    subscribe_to_retained(site, 100_000)


def retained_unread(site: Site) -> None:
    site.retained(site.many(90_000), bytes(10_000))
    lazy = [site.join(buffer=4096) for _ in range(5)]
    site.begin()
    for one in lazy:
        one.say(subscribe(["r/#"]))
    time.sleep(max(1.0, 10.0 * min(1.0, site.scale)))


def retained_in_vain(site: Site) -> None:
    """Wildcards that nothing matches and that have to look everywhere."""
    site.say_all(publish(f"v/{n % 300}/{n}/x", b"x", retain=True) for n in range(site.many(100_000)))
    one = site.join()
    site.begin()
    one.say(subscribe(f"+/+/+/none-{n}" for n in range(site.many(200))))
    one.hear(SUBACK)


def same_retained_again_and_again(site: Site) -> None:
    """A subscription repeated, each of which gives all retained messages again."""
    count, times = site.many(10_000), site.many(20)
    site.retained(count, bytes(100))
    one = site.join()
    site.begin()
    one.say(*(subscribe(["r/#"]) for _ in range(times)))
    one.hear(PUBLISH, count * times)


# Many filters


def many_filters(site: Site) -> None:
    said = subscribe(f"f/{n}" for n in range(site.many(100_000)))
    one = site.join()
    site.begin()
    one.say(said)
    one.hear(SUBACK)


def many_filters_given_up(site: Site) -> None:
    filters = [f"f/+/{n}" for n in range(site.many(50_000))]
    one = site.join()
    one.say(subscribe(filters))
    one.hear(SUBACK)
    site.begin()
    one.say(unsubscribe(filters))
    one.hear(UNSUBACK)


def filters_behind_names(site: Site) -> None:
    site.say_all(publish(f"d/u/{n}") for n in range(site.many(90_000)))
    one = site.join()
    site.begin()
    one.say(subscribe(f"d/u/+/{n}" for n in range(site.many(2000))))
    one.hear(SUBACK)


def overlapping(site: Site, levels: int) -> list[str]:
    """Filters of so many levels, all of which match a/a/.../a, and half of them whatever is last."""
    return ["/".join(drawn) for drawn in product("a+", repeat=levels if site.scale == 1 else 7)]


def own_filters_hit(site: Site, levels: int, names: int) -> None:
    one, filters = site.join(), overlapping(site, levels)
    for some in pieces(filters, 2048):
        one.say(subscribe(some))
        one.hear(SUBACK)
    said = [publish("a/" * filters[0].count("/") + f"{n}") for n in range(site.many(names))]
    site.begin()
    one.say(*said)
    one.drained()


def own_filters_hit_by_6_kb(site: Site) -> None:
    own_filters_hit(site, 14, 200)


def own_filters_hit_by_256_kib(site: Site) -> None:
    own_filters_hit(site, 14, 8000)


def most_filters_hit(site: Site) -> None:
    own_filters_hit(site, 16, 50)


def identifiers(site: Site) -> None:
    """All of the filters have identifiers, which a publication has to name."""
    one, other, filters = site.join(V5), site.join(), overlapping(site, 16)
    for number, each in enumerate(filters):
        one.say(subscribe([each], version=V5, said=IDENTIFIER + varint(number + 1)))
    one.drained()
    site.begin()
    other.say(*(publish(filters[0][:-1] + name) for name in "abcd"))
    other.drained()
    one.drained()


def shared_overlapping(site: Site) -> None:
    """Shared subscriptions by the hundred on each of a thousand filters that match one name."""
    one, other, filters = site.join(), site.join(), overlapping(site, 10)
    for group in range(site.many(97)):
        one.say(subscribe(f"$share/g{group}/{each}" for each in filters))
        one.hear(SUBACK)
    site.begin()
    other.say(*[publish(filters[0], b"x")] * 10)
    other.drained()
    one.drained()


def shared_copies(site: Site) -> None:
    one = site.join(buffer=4096)
    one.say(subscribe(f"$share/g{n}/t" for n in range(site.many(2000))))
    one.hear(SUBACK)
    other = site.join()
    site.begin()
    other.say(publish("t", bytes(1_000_000)))
    other.drained()


def overlapping_copies(site: Site) -> None:
    """Many clients that do not read, and one large publication to all of them."""
    for _ in range(site.many(300)):
        one = site.join(buffer=4096)
        one.say(subscribe(["o/#"]))
        one.hear(SUBACK)
    other = site.join()
    site.begin()
    for _ in range(5):
        other.say(publish("o/x", bytes(1_000_000)))
    other.drained()


# Levels


def deep_topics(site: Site) -> None:
    one = site.join()
    site.begin()
    one.say(*(publish("/" * 100 + f"{n}", retain=True) for n in range(site.many(20_000))))
    one.drained()


def deep_filters(site: Site) -> None:
    one = site.join()
    site.begin()
    for start in range(0, site.many(20_000), 2000):
        one.say(subscribe("+/" * 100 + f"{n}" for n in range(start, start + site.many(2000))))
        one.hear(SUBACK)


def slashes(site: Site) -> None:
    """Names of as many levels as 65,535 bytes hold: more than any broker serves."""
    site.begin()
    for _ in range(site.many(100)):
        one = site.dial()
        one.say(connect(), publish("/" * 65_000), subscribe(["/" * 65_000]))
        one.drained()
        one.leave()


# Log-in, ports


def wrong_passwords(site: Site) -> None:
    site.begin()
    ones = [site.dial(source=f"127.0.0.{2 + n % 3}") for n in range(site.many(300))]
    for one in ones:
        one.say(connect(login=("nobody", "x")))
    time.sleep(max(1.0, 10.0 * min(1.0, site.scale)))


def _idle(site: Site, port: int, said: bytes) -> None:
    site.begin()
    for _ in range(site.many(1100)):
        site.dial(port).say(said)
    time.sleep(max(0.5, 5.0 * min(1.0, site.scale)))


def idle_at_http(site: Site) -> None:
    _idle(site, site.second, b"GET /x")


def idle_at_link(site: Site) -> None:
    _idle(site, site.link, b"")


def idle_at_master(site: Site) -> None:
    _idle(site, site.master, b"")


def begun_handshakes(site: Site) -> None:
    """Handshakes that are all begun at once, and never finished."""
    hello = client_hello()
    ones = [site.dial(site.tls) for _ in range(site.many(1000))]
    site.begin()
    for one in ones:
        one.say(hello)
    time.sleep(max(0.5, 3.0 * min(1.0, site.scale)))


def idle_at_mqtt(site: Site) -> None:
    _idle(site, site.port, b"")


def begun_connects(site: Site) -> None:
    """CONNECTs that are never complete, as large as they may be."""
    said = connect(said=USER_PROPERTY * 70_000, version=V5)[:480_000]
    site.begin()
    for _ in range(site.many(1000)):
        site.dial().say(said)
    time.sleep(max(0.5, 3.0 * min(1.0, site.scale)))


def refused_and_staying(site: Site) -> None:
    """Connections that are refused and do not go."""
    site.begin()
    for _ in range(site.many(2000)):
        one = site.dial()
        one.say(OF_NO_VERSION)
    time.sleep(max(0.5, 3.0 * min(1.0, site.scale)))


def comes_and_goes(site: Site) -> None:
    """Connections, each of which says who it is and goes without a word."""
    site.begin()
    for _ in range(site.many(5000)):
        one = Stranger(site.port)
        one.say(connect())
        one.leave()


def long_names(site: Site) -> None:
    site.begin()
    for _ in range(site.many(500)):
        one = Stranger(site.port)
        one.say(connect(new_name("x" * 64_900)))
        one.hear(CONNACK)
        one.leave()


def take_overs(site: Site) -> None:
    """One session with a thousand filters, taken over again and again."""
    name = new_name()
    one = site.join(client=name, clean=False)
    for some in pieces((f"t/+/{n}" for n in range(site.many(1000))), 500):
        one.say(subscribe(some))
        one.hear(SUBACK)
    site.begin()
    for _ in range(site.many(1000)):
        site.join(client=name, clean=False)
        site.strangers.pop(-2).leave()


def take_overs_without_answer(site: Site) -> None:
    name = new_name()
    site.begin()
    for _ in range(site.many(2000)):
        site.dial().say(connect(name, clean=False))
    time.sleep(0.5)


# What stays


def renewals(site: Site) -> None:
    one = site.join(V5)
    said = publish("t/one", bytes(MIB), 1, retain=True, said=EXPIRES + u32(NEVER))
    site.begin()
    for _ in range(site.many(600)):
        one.say(said)
        one.hear(PUBACK)


def aliases_left_behind(site: Site) -> None:
    allowed = min(100, aliases_of(site.port))
    site.begin()
    for _ in range(site.many(60)):
        one = site.dial()
        one.say(connect(version=V5, keep_alive=65_535))
        one.hear(CONNACK)
        for alias in range(1, allowed + 1):
            one.say(publish(f"{alias}" + "a" * 60_000, said=ALIAS + u16(alias)))
        one.drained()
        one.say(GOODBYE)
        one.leave()


def packets_left_behind(site: Site) -> None:
    begun = publish("t", bytes(site.many(16 * MIB - 100)))[: site.many(15 * MIB)]
    site.begin()
    for _ in range(20):
        one = site.dial()
        one.say(connect(version=V5, keep_alive=65_535))
        one.hear(CONNACK)
        one.say(begun)
        one.leave()


def sessions_with_wills(site: Site) -> None:
    site.begin()
    for _ in range(site.many(3000)):
        one = site.dial()
        last = will("w/x", bytes(60_000), WILL_DELAY + u32(NEVER))
        one.say(connect(version=V5, clean=False, said=kept(), will=last))
        one.hear(CONNACK)
        one.leave()


def queue_of_one_that_is_away(site: Site) -> None:
    name = new_name()
    away = site.join(client=name, clean=False)
    away.say(subscribe(["q/#"], 1))
    away.hear(SUBACK)
    away.leave()
    other, count = site.join(), site.many(20_000)
    site.begin()
    for numbers in pieces(range(count), 500):
        other.say(*(publish("q/x", bytes(10_000), 1, 1 + n % 65_535) for n in numbers))
        other.hear(PUBACK, len(numbers))
    back = site.join(client=name, clean=False)
    back.hear(PUBLISH, 10)


def never_released(site: Site) -> None:
    """QoS 2, of which PUBREL never comes."""
    one = site.join(V5)
    site.begin()
    for number in range(1, site.many(200)):
        one.say(publish("u", bytes(MIB), 2, number, said=b""))
        one.hear(PUBREC)


def slow_reader(site: Site) -> None:
    slow = site.join(buffer=4096)
    slow.say(subscribe(["l/#"], 1))
    slow.hear(SUBACK)
    other = site.join()
    site.begin()
    for number in range(1, site.many(200)):
        other.say(publish("l/x", bytes(MIB), number % 2, number))
        slow.sip(1000)
    time.sleep(0.5)


def pings_unread(site: Site) -> None:
    one = site.join(buffer=4096)
    one.socket.settimeout(3.0)
    said = PING * 100_000
    site.begin()
    for _ in range(site.many(100)):
        one.say(said)


# What comes at one moment


def retained_expire_together(site: Site) -> None:
    site.retained(site.many(100_000), said=EXPIRES + u32(2))
    site.begin()
    time.sleep(4.0)


def sessions_expire_together(site: Site) -> None:
    for _ in range(site.many(5000)):
        one = Stranger(site.port)
        one.say(connect(version=V5, clean=False, said=kept(3)), subscribe((f"e/+/{n}" for n in range(20)), version=V5))
        one.hear(SUBACK)
        one.leave()
    site.begin()
    time.sleep(4.0)


def wills_at_one_moment(site: Site) -> None:
    """Everybody closes at once; one that does not read hears all wills."""
    lazy = site.join(buffer=4096)
    lazy.say(subscribe(["w/#"]))
    lazy.hear(SUBACK)
    ones = [site.join(V5, will=will(f"w/{n}", bytes(1000))) for n in range(site.many(1000))]
    site.begin()
    for one in ones:
        one.leave()
    time.sleep(1.0)


def many_leave_together(site: Site) -> None:
    ones = []
    for n in range(site.many(500)):
        one = site.join()
        one.say(subscribe(f"m/+/{n}/{k}" for k in range(site.many(200))))
        one.hear(SUBACK)
        ones.append(one)
    site.say_all(publish(f"m/x/{n}") for n in range(site.many(50_000)))
    site.begin()
    for one in ones:
        one.leave()
    time.sleep(1.0)


# WebSockets, logs


def _websocket(site: Site) -> Stranger:
    one = site.dial(site.websocket, buffer=4096)
    one.say(upgrade(), ws_frame(2, connect()))
    return one


def websocket_in_fragments(site: Site) -> None:
    said = ws_frame(2, b"", final=False) + ws_frame(0, b"", final=False) * site.many(300_000) + ws_frame(0, PING)
    one = _websocket(site)
    site.begin()
    one.say(said)
    time.sleep(2.0 * min(1.0, site.scale * 10))


def websocket_pings(site: Site) -> None:
    one = _websocket(site)
    one.socket.settimeout(3.0)
    said = ws_frame(9, bytes(125)) * 10_000
    site.begin()
    for _ in range(site.many(100)):
        one.say(said)


def websocket_byte_by_byte(site: Site) -> None:
    """A publication of which each byte is a frame."""
    one = _websocket(site)
    said = b"".join(ws_frame(2, bytes([byte])) for byte in publish("b", bytes(site.many(200_000))))
    site.begin()
    one.say(said)
    time.sleep(2.0 * min(1.0, site.scale * 10))


def websocket_head(site: Site) -> None:
    said = upgrade([f"X-{n}: {'x' * 4000}" for n in range(site.many(1000))])
    site.begin()
    for _ in range(10):
        one = site.dial(site.websocket)
        one.say(said)
    time.sleep(1.0)


def every_line_is_logged(site: Site) -> None:
    site.begin()
    for _ in range(site.many(500)):
        one = Stranger(site.port)
        one.say(connect(), GOODBYE)
        one.hear(CONNACK)
        one.leave()


@dataclass(frozen=True)
class Attack:
    sentence: str
    run: Callable[[Site], None]
    users: bool = False  # clients need a password
    network: bool = False  # the node has a master, and a port for links
    tls: bool = False  # it listens for TLS too
    descriptors: int | None = None  # limit of open files
    log: str = "file"  # where the log goes: a file, a pipe that is closed, a disk that is full


ATTACKS: dict[str, Attack] = {
    "nothing": Attack("nobody attacks: what this machine does by itself", nothing),
    "connect-properties": Attack("CONNECT with 70,000 user properties (490 kB)", properties_in_connect),
    "will-properties": Attack("CONNECT whose will has 70,000", properties_in_will),
    "publish-properties": Attack("PUBLISH with 80,000 (560 kB)", properties_in_publish),
    "publish-16-mib": Attack("PUBLISH with 2,390,000 (16 MiB)", properties_of_16_mib),
    "subscribe-properties": Attack("SUBSCRIBE with 80,000", properties_in_subscribe),
    "unsubscribe-properties": Attack("UNSUBSCRIBE with 80,000", properties_in_unsubscribe),
    "same-filter": Attack("SUBSCRIBE of 4 MB with one filter a million times", one_filter_again_and_again),
    "same-unsubscribe": Attack("UNSUBSCRIBE with one filter a million times", one_filter_given_up_again_and_again),
    "drops": Attack("PUBLISH of 4 MiB in pieces of 64 bytes", packet_in_drops),
    "retained-300k": Attack("a client subscribes to 300,000 retained messages", retained_300_000),
    "retained-100k": Attack("a client subscribes to 100,000 retained messages", retained_100_000),
    "retained-unread": Attack("five that do not read subscribe to 90,000 of 10 kB", retained_unread),
    "retained-in-vain": Attack("200 filters that none of 100,000 retained messages matches", retained_in_vain),
    "retained-again": Attack("20 times the same filter of 10,000 retained messages", same_retained_again_and_again),
    "filters": Attack("100,000 filters of one client in one packet, and it leaves", many_filters),
    "filters-given-up": Attack("UNSUBSCRIBE of 50,000 filters with wildcards", many_filters_given_up),
    "names-filters": Attack("2,000 filters after 90,000 distinct names, and the client leaves", filters_behind_names),
    "own-filters": Attack("6 kB of PUBLISH against one's own 16,384 filters", own_filters_hit_by_6_kb),
    "own-filters-read": Attack("256 KiB of PUBLISH against one's own 16,384 filters", own_filters_hit_by_256_kib),
    "own-filters-most": Attack("50 names against one's own 65,536 filters", most_filters_hit),
    "identifiers": Attack("4 names that match 65,536 filters of a client, each with an identifier", identifiers),
    "shared-overlapping": Attack("10 publications to 99,328 shared subscriptions of a client", shared_overlapping),
    "shared": Attack("1 MB to 2,000 shared subscriptions of a client that does not read", shared_copies),
    "unread": Attack("5 times 1 MB to 300 clients that do not read", overlapping_copies),
    "deep-topics": Attack("20,000 retained messages on names of 101 levels", deep_topics),
    "deep-filters": Attack("20,000 filters of 101 levels", deep_filters),
    "slashes": Attack("100 names and filters of 65,000 levels", slashes),
    "passwords": Attack("300 wrong passwords; others log in for the first time", wrong_passwords, users=True),
    "http": Attack(
        "1,100 connections to `--http`, of 1,024 descriptors (Mosquitto: a second listener)",
        idle_at_http,
        descriptors=1024,
    ),
    "link": Attack(
        "1,100 connections to `--link`, of 1,024 descriptors (Mosquitto: a second listener)",
        idle_at_link,
        network=True,
        descriptors=1024,
    ),
    "master": Attack(
        "1,100 connections to the master, of 1,024 descriptors (Mosquitto: a second listener)",
        idle_at_master,
        network=True,
        descriptors=1024,
    ),
    "mqtt": Attack("1,100 connections that say nothing, of 1,024 descriptors", idle_at_mqtt, descriptors=1024),
    "handshakes": Attack("1,000 TLS handshakes that are begun at once", begun_handshakes, tls=True),
    "begun-connects": Attack("1,000 CONNECTs of 490 kB that are never complete", begun_connects),
    "refused": Attack("2,000 connections that are refused and stay", refused_and_staying),
    "come-and-go": Attack("5,000 connections that go without a word", comes_and_goes),
    "long-names": Attack("500 connections with client ids of 64,900 bytes", long_names),
    "take-overs": Attack("1,000 take-overs of a session with 1,000 filters", take_overs),
    "take-overs-at-once": Attack("2,000 take-overs that wait for nothing", take_overs_without_answer),
    "renewals": Attack("600 renewals of a retained topic of 1 MiB with an expiry", renewals),
    "aliases": Attack("60 connections, keep-alive 65,535, 100 topic aliases of 60 kB, and gone", aliases_left_behind),
    "begun": Attack("20 times 15 MiB of a PUBLISH of 16 MiB, and gone", packets_left_behind),
    "wills": Attack("3,000 kept sessions with wills of 60 kB", sessions_with_wills),
    "queue": Attack("20,000 publications of 10 kB for a session that is away", queue_of_one_that_is_away),
    "unreleased": Attack("200 publications of 1 MiB with QoS 2 that are never released", never_released),
    "slow-reader": Attack("200 publications of 1 MiB to a client that reads 1,000 bytes of each", slow_reader),
    "pings": Attack("10,000,000 PINGREQ of a client that does not read", pings_unread),
    "expire-together": Attack("100,000 retained messages expire at one moment", retained_expire_together),
    "sessions-expire": Attack("5,000 sessions with 20 filters each expire at one moment", sessions_expire_together),
    "wills-together": Attack("1,000 clients with wills are gone at once", wills_at_one_moment),
    "leave-together": Attack("500 clients of 200 filters leave at once, after 50,000 names", many_leave_together),
    "websocket-fragments": Attack("WebSocket: a message of 300,000 empty fragments", websocket_in_fragments),
    "websocket-pings": Attack("WebSocket: 1,000,000 pings of one that does not read", websocket_pings),
    "websocket-bytes": Attack("WebSocket: a publication of 200 kB, a frame a byte", websocket_byte_by_byte),
    "websocket-head": Attack("WebSocket: 10 upgrades with 4 MB of headers", websocket_head),
    "log-closed": Attack("500 connections while the log is a closed pipe", every_line_is_logged, log="pipe"),
    "log-full": Attack("500 connections while the log's disk is full", every_line_is_logged, log="full"),
}
