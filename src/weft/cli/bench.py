"""weft bench"""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result, readable
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.live.bench.measurement import Moment

EXAMPLE = "weft bench 127.0.0.1:1883 127.0.0.1:1884 --publishers 10 --subscribers 100 --topics 50 --rate 1000 --qos 1"

EVERY = 10.0  # seconds between lines where there is no terminal


def bench(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[mqtts://]HOST:PORT",
            help="Brokers; clients are spread over them. Default: 127.0.0.1:1883.",
            show_default=False,
        ),
    ] = None,
    publishers: Annotated[int | None, typer.Option(help="Clients that publish. Default: 1.")] = None,
    subscribers: Annotated[int | None, typer.Option(help="Clients that subscribe. Default: 1.")] = None,
    topics: Annotated[int | None, typer.Option(help="Topics, divided among the publishers. Default: 10.")] = None,
    subscriptions: Annotated[
        int | None, typer.Option(metavar="N", help="Topics that a subscriber draws. Default: all.")
    ] = None,
    zipf: Annotated[
        float | None,
        typer.Option(metavar="EXPONENT", help="Popularity of the k-th topic: 1 / k^EXPONENT. Default: 0, all alike."),
    ] = None,
    instance: Annotated[
        Path | None,
        typer.Option(
            metavar="INSTANCE",
            help="Subscriptions and publishers of an instance instead: its node i is at the i-th broker, in turn.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Publications a second of all publishers. Default: as fast as it goes.", show_default=False),
    ] = None,
    qos: Annotated[int, typer.Option(help="0, 1 or 2.")] = 0,
    payload: Annotated[int, typer.Option(metavar="BYTES", help="Of a publication, from 16.")] = 100,
    seconds: Annotated[float, typer.Option(help="How long it is published.")] = 10.0,
    window: Annotated[int, typer.Option(help="Publications of QoS 1 and 2 that a publisher has open at a time.")] = 100,
    persistent: Annotated[
        bool, typer.Option("--persistent", help="Have the brokers keep subscribers' sessions.")
    ] = False,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="Without a delivery, after which what is missing is lost.")
    ] = 3.0,
    processes: Annotated[int, typer.Option(help="That publish, and as many that subscribe.")] = 1,
    username: Annotated[str | None, typer.Option(help="For brokers that ask for it.", show_default=False)] = None,
    password: Annotated[
        str | None,
        typer.Option(envvar="WEFT_PASSWORD", help="For brokers that ask for it.", show_default=False),
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="PEM, who signs the certificates of brokers with TLS. Default: who the system trusts.",
            show_default=False,
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Of a Weft network: its master, to tell relays a delivery.", show_default=False
        ),
    ] = None,
    capacity: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead, what a content-based broker of ours forwards, between two processes: for weft popsub.",
            show_default=False,
        ),
    ] = None,
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Load any MQTT broker or fleet, and tell throughput, latencies, losses, duplicates and order violations.

    Ctrl-C ends it with the figures so far."""
    if capacity is not None:
        _measure_capacity(capacity, targets, subscriptions, force, json)
        return
    from weft import ending
    from weft.live.address import read_address
    from weft.live.bench.load import Load, Manner, drawn_load, instance_load
    from weft.live.bench.measurement import measure
    from weft.live.bench.relays import relays_a_delivery, settled_passages
    from weft.model.instance import Instance

    addresses = [read_address(target) for target in targets or ["127.0.0.1:1883"]]
    for address in addresses:
        if address.websocket or not address.port:
            raise WeftError(f"{address} is no MQTT over TCP: give HOST:PORT, or mqtts://HOST:PORT.")
    trusted = None if authority is None else str(authority)
    manner = Manner(qos, payload, rate, seconds, window, persistent, wait, username, password, trusted)
    drawn = {
        "publishers": publishers,
        "subscribers": subscribers,
        "topics": topics,
        "subscriptions": subscriptions,
        "zipf": zipf,
    }
    given = {name: value for name, value in drawn.items() if value is not None}
    load: Load
    if instance is None:
        load = drawn_load(addresses, seed=seed, **given)  # type: ignore[arg-type]
    elif given:
        name = next(iter(given))
        raise WeftError(f"`{name}` is in the instance: leave it out, or leave out `instance`.", name, "instance")
    else:
        load = instance_load(Instance.read(instance), addresses, seed)
    ending.release()  # a run ends in order, with its figures
    known = None if master is None else read_address(master)
    waiting = ConsoleProgress().step
    before = None
    if known is not None:
        with waiting("Waiting for the nodes' counters to stand still"):
            before = settled_passages(known)
    with _Line() as line:
        figures = measure(load, manner, processes, seed, line.show)
    if known is not None and before is not None:
        with waiting("Waiting for the nodes' counters to stand still"):
            figures["relays_a_delivery"] = relays_a_delivery(before, settled_passages(known))
    number = figures.pop("signal")
    print_result({"brokers": [str(address) for address in addresses], **figures}, json)
    if number:
        raise typer.Exit(128 + number)


def _measure_capacity(out: Path, targets: list[str] | None, subscriptions: int | None, force: bool, json: bool) -> None:
    from weft.live.bench.capacity import SIZES, measured_between_processes
    from weft.model.output import claimed
    from weft.model.storage import new_path

    if targets:
        raise WeftError("`capacity` is of brokers that it starts itself: leave the targets out.", "capacity")
    done = [0]
    with claimed(out, force=force):
        with ConsoleProgress().step("Publishing in batches", lambda: (done[0], len(SIZES))):
            count = 22_000 if subscriptions is None else subscriptions
            table = measured_between_processes(count, 3_000, 5, lambda number: done.__setitem__(0, number))
        with new_path(out, force=force) as partial:
            partial.write_text(table.text(f"weft bench --capacity {out}"))
    rates = {f"in batches of {size}": rate for size, rate in table.rates.items()}
    print_result({"publications_a_second": rates, "additional": table.additional, "subscriptions": count}, json)


class _Line:
    """What happens now: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0.0 if self._terminal else EVERY)
        self._width = 0

    def __enter__(self) -> "_Line":
        return self

    def show(self, moment: "Moment") -> None:
        if time.monotonic() < self._next:
            return
        told = _told(moment)
        if self._terminal:
            typer.echo("\r" + told.ljust(self._width), err=True, nl=False)
            self._width = len(told)
        else:
            self._next += EVERY
            say(told, err=True)

    def __exit__(self, *_: object) -> None:
        if self._width:
            typer.echo("\r" + " " * self._width + "\r", err=True, nl=False)


def _told(moment: "Moment") -> str:
    latency = moment.latencies.figures()
    return (
        f"{moment.seconds:.1f} s: {moment.published_rate:,.0f} publications/s, "
        f"{moment.delivered_rate:,.0f} deliveries/s, latency median {readable(latency['p50'])} ms, "
        f"99 % {readable(latency['p99'])} ms"
    )
