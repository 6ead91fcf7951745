"""What our PopSub broker can forward: publications/s alone, and how much faster in batches of 2 to 256.

python benchmarks/broker.py                                              # prints the table
python benchmarks/broker.py --out src/weft/sim/broker_capacity.toml      # and stores it for the simulation

As in the paper (section 5.1): one broker sends 3,000 publications to the next in batches of one size, five times with
different seeds, and the mean counts. Measured is all that the receiving broker does in Python, on one core and without
sockets: read the bytes, match 22,000 subscriptions (110 of its own clients, the rest behind one link), decide, and
write the bytes for the link. How much of it is writing is measured too: that is what a publication costs for each
additional link or broker that it is sent to. `weft bench --capacity` measures the same between two processes.
"""

import argparse
import time
from pathlib import Path
from statistics import fmean

from weft.live.bench.capacity import ISSUER, SIZES, CapacityTable, frames, prepared, write_share
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.codec import decode, encode
from weft.protocol.router import Received, Send


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=22_000)
    parser.add_argument("--publications", type=int, default=3_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    broker = prepared(options.subscriptions)
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
        table = CapacityTable(rates, share, options.subscriptions, options.publications, options.repeats)
        options.out.write_text(table.text(f"python benchmarks/broker.py --out {options.out}"))


def throughput(broker: Broker, size: int, count: int, seed: int) -> float:
    arriving = frames(size, count, seed)
    start = time.perf_counter()
    for data in arriving:
        for effect in broker.handle(Received(ISSUER, decode(data)), 0.0):
            if isinstance(effect, Send):
                encode(effect.message)
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
