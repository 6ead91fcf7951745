"""What the collector of garbage may leave alone: nothing that brokers keep refers to itself."""

import gc
from collections.abc import Iterator

import pytest

from broker_client import V3, V5, House, subscribe
from weft.broker.effect import Admitted
from weft.broker.parameters import Parameters
from weft.live.collector import LONG, Collector
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property


@pytest.fixture
def _alone() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("linked", [False, True])
def test_nothing_of_what_clients_do_needs_a_collector(linked: bool) -> None:
    house = House(Parameters(sys_interval=0, linked=linked))
    house.go_on()

    def live() -> None:
        for number in range(20):
            expiry = {Property.SESSION_EXPIRY_INTERVAL: 5}
            will = p.Will("w", b"gone", 1)
            one = house.connect(f"a{number}", V3, will=will)
            two = house.connect("b", V5, clean=False, properties=expiry)
            if linked:
                for each in (one, two):
                    house.tell(Admitted(each.number))
            subscribe(one, "t/#", "$share/g/t/+", qos=1)
            subscribe(two, "t/+", qos=2, no_local=True)
            one.say(p.Publish("t/1", b"x", 1, retain=True, packet_id=1), p.Publish("t/2", b"x"))
            two.say(p.Publish("t/3", b"x", 2, packet_id=1), p.Publish("t/4", b"x"), p.Pubrel(1))
            one.say(p.Unsubscribe(2, ("t/#",)), p.Subscribe(3, tuple(p.Request(f"f/{n}") for n in range(600))))
            one.vanish()
            two.say(p.Disconnect())
            house.wait(10)
            house.effects.clear()
            house.clients.clear()

    live()
    gc.collect()
    live()
    found = gc.collect()
    assert found == 0


def test_what_a_long_look_has_found_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr("weft.live.collector.gc.freeze", lambda: frozen.append(True))
    now = [0.0]
    collector = Collector(lambda: now[0])

    def collect(generation: int, seconds: float) -> None:
        collector.note("start", {"generation": generation})
        now[0] += seconds
        collector.note("stop", {"generation": generation})

    collect(2, LONG / 2)
    collect(0, 1.0)
    assert not frozen
    collect(2, LONG * 2)
    assert len(frozen) == 1
