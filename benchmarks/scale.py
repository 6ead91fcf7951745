"""Divided designs by size: design, trees and evaluation on Spark, whole commands; prints Markdown tables.

python benchmarks/scale.py --scratch /big/disk                # 10,000 to 300,000 nodes, beside the undivided greedy
python benchmarks/scale.py --scratch /big/disk --nodes 1000000 --write          # its needs go to measurements.csv
python benchmarks/scale.py --scratch /big/disk --nodes 3000000 --commands design weave --write
python benchmarks/scale.py --scratch /big/disk --nodes 100000 --workers 1 2     # of a cluster, with the same two cores
python benchmarks/scale.py --plot docs/figures/scale.svg                        # cost against size, from that file
"""

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from standalone import standalone
from weft.model.storage import kept_beside
from weft.overlays.arcs import need

WEFT = Path(sys.executable).with_name("weft")
MEASUREMENTS = Path(need.__file__).with_name("measurements.csv")
SIZES = (10_000, 30_000, 100_000, 300_000)
EXACT_UP_TO = 300_000
CORES = 2
MASTER = f"local[{CORES}]"
COLUMNS = (
    "command",
    "nodes",
    "subscriptions",
    "driver_seconds",
    "other_seconds",
    "seconds",
    "memory_bytes",
    "disk_bytes",
)


@dataclass
class Cost:
    seconds: float
    memory_bytes: int  # of all processes together, at the most
    disk_bytes: int  # that the folder grew by, at the most
    driver_seconds: float  # of the processor, by the command's own process
    other_seconds: float  # of the processor, by Java and the processes of tasks
    result: dict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", type=Path, help="folder for instances and overlays; what is there is used again")
    parser.add_argument("--nodes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--arc", type=int, default=8192)
    parser.add_argument("--publications", type=int, default=100_000)
    parser.add_argument("--exact", action=argparse.BooleanOptionalAction, default=None, help="the undivided greedy too")
    parser.add_argument("--commands", nargs="*", choices=need.COMMANDS, default=need.COMMANDS, help="some of them only")
    parser.add_argument("--write", action="store_true", help="to measurements.csv, by which weft plan goes")
    parser.add_argument("--workers", type=int, nargs="*", help="a design on clusters of so many, and nothing else")
    parser.add_argument("--plot", type=Path, help="draw measurements.csv, and nothing else")
    options = parser.parse_args()
    if options.plot:
        plot(options.plot)
        return
    if options.workers:
        on_clusters(options)
        return
    print("| nodes | overlay | command | time | task seconds | longest task ", end="")
    print("| all memory | disk | TcoSuppR | overhead | path |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    designs = {nodes: one_size(nodes, options) for nodes in options.nodes}
    if "design" in options.commands:
        print_cores(designs)


def on_clusters(options: argparse.Namespace) -> None:
    """A divided design on standalone clusters of several numbers of workers that share the same cores."""
    print("| nodes | workers | cores of each | time | against the first |")
    print("|---|---|---|---|---|")
    for nodes in options.nodes:
        instance, first = instance_of(nodes, options.scratch), 0.0
        for workers in options.workers:
            seconds = on_workers(workers, instance, options)
            first = first or seconds
            cores = CORES // workers
            print(f"| {nodes:,} | {workers} | {cores} | {seconds:.0f} s | {seconds / first:.2f} |", flush=True)


def on_workers(workers: int, instance: Path, options: argparse.Namespace) -> float:
    """Seconds of a divided design on a cluster of so many workers."""
    overlay = options.scratch / f"workers-{workers}"
    shutil.rmtree(kept_beside(overlay), ignore_errors=True)
    how = ("--overlay", "swico-even", "--arc", options.arc, "--force", "--out", overlay, "--engine", "spark")
    with (
        tempfile.TemporaryDirectory() as folder,
        standalone(Path(folder), workers=workers, cores=CORES // workers, memory="2g") as cluster,
    ):
        conf = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=1g")
        return run(options.scratch, "design", instance, *how, "--master", cluster.master, *conf).seconds


def instance_of(nodes: int, scratch: Path) -> Path:
    """A generated instance, made where it is not there yet."""
    instance = scratch / f"social-{nodes}"
    if not instance.exists():
        run(scratch, "generate", "social", "--nodes", nodes, "--out", instance)
    return instance


def one_size(nodes: int, options: argparse.Namespace) -> tuple[float, dict[str, list[float]]]:
    """A row a command; what the divided design took, and its tasks."""
    scratch = options.scratch
    instance = instance_of(nodes, scratch)
    subscriptions = json.loads((instance / "meta.json").read_text())["subscriptions"]
    exact = options.exact if options.exact is not None else nodes <= EXACT_UP_TO
    rows, divided = [], (0.0, {})
    for name, arc in (("divided", options.arc), *((("exact", 0),) if exact else ())):
        overlay, trees = scratch / f"{name}-{nodes}", scratch / f"{name}-{nodes}-trees.parquet"
        on_spark = ("--engine", "spark", "--master", MASTER)
        if "design" in options.commands:
            shutil.rmtree(kept_beside(overlay), ignore_errors=True)  # a run that was killed would go on
            engine = on_spark if arc else ("--engine", "local")
            how = ("--overlay", "swico-even", "--arc", arc, "--force", "--out", overlay)
            cost = run(scratch, "design", instance, *how, *engine)
            steps = json.loads((overlay / "meta.json").read_text()).get("task_seconds", {})
            times = [seconds for step in steps.values() for seconds in step]
            tasks = sum(times), max(times, default=0.0)
            tco = cost.result["tco_support_ratio"]
            rows.append(report(nodes, subscriptions, name, "design", cost, *tasks, tco=tco))
            divided = (cost.seconds, steps) if arc else divided
        if "weave" in options.commands:
            shutil.rmtree(kept_beside(trees), ignore_errors=True)
            cost = run(scratch, "weave", instance, overlay, "--out", trees, "--force", *on_spark)
            tasks = cost.result["task_seconds"], cost.result["longest_task_seconds"]
            rows.append(report(nodes, subscriptions, name, "weave", cost, *tasks))
        if "evaluate" in options.commands:
            how = ("--router", "weave", "--trees", trees, "--publications", options.publications)
            cost = run(scratch, "evaluate", instance, overlay, *how)
            rows.append(report(nodes, subscriptions, name, "evaluate", cost, evaluation=cost.result))
    if options.write:
        write([row for name, row in rows if name == "divided"])
    return divided


def report(
    nodes, subscriptions, overlay, command, cost, spent=0.0, longest=0.0, tco=None, evaluation=None
) -> tuple[str, dict]:
    overhead, path = ("", "") if evaluation is None else (relays(evaluation), f"{evaluation['average_path']:.3f}")
    print(
        f"| {nodes:,} | {overlay} | {command} | {cost.seconds:.0f} s | {spent:.0f} | {longest:.1f} "
        f"| {cost.memory_bytes / 1e9:.1f} GB | {cost.disk_bytes / 1e9:.1f} GB "
        f"| {'' if tco is None else f'{tco:.4f}'} | {overhead} | {path} |",
        flush=True,
    )
    return overlay, {
        "command": command,
        "nodes": nodes,
        "subscriptions": subscriptions,
        "driver_seconds": round(cost.driver_seconds, 1),
        "other_seconds": round(max(cost.other_seconds, 0.1), 1),
        "seconds": round(cost.seconds, 1),
        "memory_bytes": cost.memory_bytes,
        "disk_bytes": max(cost.disk_bytes, 1_000_000),
    }


def relays(evaluation: dict) -> str:
    """Relay receipts for every delivery."""
    return f"{evaluation['routing_overhead'] / max(evaluation['deliveries'], 1):.4f}"


def print_cores(designs: dict[int, tuple[float, dict[str, list[float]]]]) -> None:
    """How long designs would take on more cores, from the times of their tasks: a step ends with its last task."""
    print("\n| nodes | cores | time of a divided design, by the times of its tasks | tasks, against two cores |")
    print("|---|---|---|---|")
    for nodes, (seconds, steps) in designs.items():
        two = sum(makespan(times, 2) for times in steps.values())
        for cores in (4, 8, 16):
            more = sum(makespan(times, cores) for times in steps.values())
            print(f"| {nodes:,} | {cores} | {seconds - two + more:.0f} s | {two / max(more, 1e-9):.2f} times as fast |")


def makespan(times: list[float], cores: int) -> float:
    free = [0.0] * cores
    for seconds in times:
        first = free.index(min(free))
        free[first] += seconds
    return max(free)


def run(scratch: Path, *command: object) -> Cost:
    """A command of weft with its result, the most memory that its processes held, and the most disk it took."""
    ended, most = Event(), {"memory": 0, "disk": 0, "driver": 0.0, "others": 0.0}
    before = used(scratch)
    start = time.perf_counter()
    arguments = [str(WEFT), *map(str, command), "--json"]
    process = subprocess.Popen(arguments, start_new_session=True, stdout=subprocess.PIPE, text=True)

    def watch() -> None:
        while not ended.wait(min(2.0, 0.1 + (time.perf_counter() - start) / 50)):  # to look is not free either
            family = family_of(process.pid)
            most["memory"] = max(most["memory"], resident(family))
            most["driver"] = max(most["driver"], processor_seconds({process.pid}, children=False))
            most["others"] = max(most["others"], processor_seconds(family - {process.pid}))
            most["disk"] = max(most["disk"], used(scratch) - before)

    watcher = Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    ended.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"weft {command[0]} failed with {process.returncode}")
    seconds, result = time.perf_counter() - start, json.loads(output.splitlines()[-1])
    return Cost(seconds, most["memory"], most["disk"], most["driver"], most["others"], result)


def family_of(root: int) -> set[int]:
    """A process and all below it: Java leads a session of its own."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return family


def resident(family: set[int]) -> int:
    """Memory of processes, each page counted once."""
    total = 0
    for process in family:
        with suppress(OSError):
            total += int(re.findall(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.M)[0])
    return total * 1024


def processor_seconds(family: set[int], *, children: bool = True) -> float:
    """Time that processes, and children that they have waited for, took of the processors."""
    ticks, last = 0, 15 if children else 13
    for process in family:
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:last]))
    return ticks / os.sysconf("SC_CLK_TCK")


def used(folder: Path) -> int:
    """Bytes of all files in a folder."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it has gone since
                total += os.stat(os.path.join(path, name)).st_size
    return total


def write(rows: list[dict]) -> None:
    """Put the rows in the place of those of the same command and size."""
    with MEASUREMENTS.open() as file:
        kept = [row for row in csv.DictReader(file) if not any(_same(row, new) for new in rows)]
    kept += [{name: str(row[name]) for name in COLUMNS} for row in rows]
    kept.sort(key=lambda row: (need.COMMANDS.index(row["command"]), int(row["nodes"])))
    with MEASUREMENTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def _same(row: dict, new: dict) -> bool:
    return row["command"] == new["command"] and int(row["nodes"]) == new["nodes"]


def plot(path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for command in need.COMMANDS:
        rows = [row for row in need.measurements() if row["command"] == command]
        sizes = [int(row["nodes"]) for row in rows]
        axes.loglog(sizes, [float(row["seconds"]) for row in rows], "o-", label=f"weft {command}")
    first = [row for row in need.measurements() if row["command"] == "design"]
    scale = [int(row["nodes"]) * math.log2(int(row["nodes"])) for row in first]
    factor = float(first[-1]["seconds"]) / scale[-1]
    axes.loglog([int(row["nodes"]) for row in first], [factor * value for value in scale], "k:", label="n log n")
    axes.set(xlabel="nodes", ylabel="seconds on local[2]")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
