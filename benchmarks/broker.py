"""What our PopSub broker can forward: publications/s alone, and how much faster in batches of 2 to 256.

python benchmarks/broker.py                                              # prints the table
python benchmarks/broker.py --out src/weft/sim/broker_capacity.toml      # and stores it for the simulation

As in the paper (section 5.1): one broker sends 3,000 publications to the next in batches of one size, five times with
different seeds, and the mean counts. Measured is all that the receiving broker does in Python, on one core and without
sockets: read the bytes, match 22,000 subscriptions (110 of its own clients, the rest behind one link), decide, and
write the bytes for the link. Content is that of `benchmarks/matching.py`. How much of it is writing is measured too:
that is what a publication costs for each additional link or broker that it is sent to.
"""

import argparse
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import numpy as np

from matching import CLASSES, drawn_contents, drawn_filters
from weft.model.content import Advertisement, Filter, Subscription
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.codec import decode, encode
from weft.protocol.popsub.message import Advertise, Batch, Forward, Publication, Subscribe, Subscribed
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Received, Send

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ISSUER, NEXT = 1, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=22_000)
    parser.add_argument("--own", type=int, default=110)
    parser.add_argument("--publications", type=int, default=3_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    broker = prepared(options.subscriptions, options.own)
    rates = {}
    print("| batches of | publications/s | times those of 1 |\n|---:|---:|---:|")
    for size in SIZES:
        rates[size] = fmean(
            throughput(broker, size, options.publications, seed) for seed in range(options.repeats + 1) if seed
        )
        print(f"| {size} | {rates[size]:,.0f} | {rates[size] / rates[1]:.2f} |", flush=True)
    share = fmean(write_share(broker, options.publications, seed) for seed in range(1, options.repeats + 1))
    print(f"\nof which writing: {share:.1%}")
    if options.out:
        options.out.write_text(table(rates, share, options))


def prepared(subscriptions: int, own: int) -> Broker:
    broker = Broker(0, [ISSUER, NEXT], Way.BATCH, Parameters(diameter=0.0, capacity=1.0))
    for kind in range(CLASSES):
        broker.handle(Received(ISSUER, Advertise(Advertisement(kind, Filter(f"class {kind}", {})))), 0.0)
    for number, wanted in enumerate(drawn_filters(np.random.default_rng(1), subscriptions, 0.0)):
        subscription = Subscription(number, wanted)
        local = number < own
        broker.handle(Subscribed(subscription) if local else Received(NEXT, Subscribe(subscription, NEXT, 1)), 0.0)
    throughput(broker, 1, 10, 0)  # makes the index, and compiles
    return broker


def throughput(broker: Broker, size: int, count: int, seed: int) -> float:
    arriving = frames(size, count, seed)
    start = time.perf_counter()
    for data in arriving:
        for effect in broker.handle(Received(ISSUER, decode(data)), 0.0):
            if isinstance(effect, Send):
                encode(effect.message)
    return count / (time.perf_counter() - start)


def write_share(broker: Broker, count: int, seed: int) -> float:
    """The share of writing in the time that publications take one by one."""
    arriving = frames(1, count, seed + count)
    start = time.perf_counter()
    effects = [effect for data in arriving for effect in broker.handle(Received(ISSUER, decode(data)), 0.0)]
    handled = time.perf_counter()
    for effect in effects:
        if isinstance(effect, Send):
            encode(effect.message)
    written = time.perf_counter()
    return (written - handled) / (written - start)


def frames(size: int, count: int, seed: int) -> list[bytes]:
    """A batch has one advertisement, that is one class here."""
    contents = sorted(drawn_contents(np.random.default_rng(seed), count), key=lambda content: content.kind)
    said = [
        Publication(ISSUER, (seed * max(SIZES) + size) * count + number, int(content.kind.split()[1]), said=content)
        for number, content in enumerate(contents)
    ]
    if size == 1:
        return [encode(Forward(publication, 1)) for publication in said]
    return [encode(Batch(tuple(said[start : start + size]), 1)) for start in range(0, count, size)]


def table(rates: dict[int, float], share: float, options: argparse.Namespace) -> str:
    speedup = ", ".join(f"{rates[size] / rates[1]:.3f}" for size in SIZES)
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return f"""# What a broker of ours can forward, measured; see docs/popsub.md.
[provenance]
date = {datetime.now(UTC):%Y-%m-%d}
command = "python benchmarks/broker.py --out {options.out}"
machine = "{machine()}, {os.cpu_count()} cores, one used"
versions = "Python {platform.python_version()}, {versions}"
subscriptions = {options.subscriptions}
own_subscriptions = {options.own}
publications = {options.publications}
repeats = {options.repeats}

[capacity]
publications_per_second = {rates[1]:.0f}
additional = {share:.3f}  # of a unit, for each link but the first that a publication is written for

[batch]  # a batch of n takes n / speedup(n) units of capacity
sizes = [{", ".join(map(str, SIZES))}]
speedup = [{speedup}]
"""


def machine() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
