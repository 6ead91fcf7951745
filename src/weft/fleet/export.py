"""A plan for Mosquitto as a folder: a configuration for every broker, NAME.conf.

Beside them are `plan.json` (the bridges) and `flows.parquet` (topic, source and target, by name), by which a later plan
is compared with it, and `changes.md` where it was itself compared with an earlier one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.errors import WeftError
from weft.fleet.bridge import Bridge, Line
from weft.fleet.broker import Brokers
from weft.fleet.change import Change, Flowing, change, hops_of, unsubscribed
from weft.fleet.mosquitto import configuration
from weft.fleet.plan import Plan
from weft.model.storage import new_folder, read_columns, write_columns, write_meta

PLAN, FLOWS, CHANGES = "plan.json", "flows.parquet", "changes.md"


def write_mosquitto(
    plan: Plan, brokers: Brokers, out: Path, *, old: Path | None = None, force: bool = False
) -> Change | None:
    """Write a folder of configurations; beside an old one, what changes and in which order is told."""
    changes, gone = None, dict[str, list[tuple[str, str]]]()
    if old is not None:
        earlier = read_plan(old)
        changes = change(earlier.bridges, plan.bridges, earlier.flowing, _flowing(plan))
        gone = unsubscribed(earlier.bridges, plan.bridges)
    with new_folder(out, force=force) as folder:
        for name in plan.brokers:
            text = configuration(name, plan.bridges, brokers, gone.get(name, []))
            (folder / f"{name}.conf").write_text(text, "utf-8")
        shortening = [
            {"owner": bridge.owner, "remote": bridge.remote, **asdict(told)}
            for bridge, told in zip(plan.bridges, plan.shortening, strict=True)
        ]
        about = {"brokers": plan.brokers, "shortening": shortening, "bridges": list(map(asdict, plan.bridges))}
        (folder / PLAN).write_text(json.dumps(about, indent=1) + "\n")
        write_columns(folder / FLOWS, _named_flows(plan))
        if changes is not None:
            (folder / CHANGES).write_text(_in_words(changes), "utf-8")
        write_meta(folder, {"export": "mosquitto", **plan.figures})
    return changes


@dataclass(frozen=True)
class Exported:
    brokers: tuple[str, ...]
    bridges: tuple[Bridge, ...]
    flowing: Flowing


def read_plan(folder: Path) -> Exported:
    path = folder / PLAN
    if not path.is_file():
        raise WeftError(f"{folder} is no plan of `weft export` for Mosquitto: it has no {PLAN}.")
    try:
        plan = json.loads(path.read_text())
        brokers, bridges = tuple(plan["brokers"]), tuple(map(_bridge, plan["bridges"]))
    except (ValueError, KeyError, TypeError) as error:
        raise WeftError(f"{path} cannot be read: {error}. Export that plan again.") from error
    table = read_columns(folder / FLOWS, {name: pa.string() for name in ("topic", "source", "target")})
    return Exported(brokers, bridges, hops_of(*(table[name].to_pylist() for name in ("topic", "source", "target"))))


def read_kept(folder: Path, brokers: Sequence[str]) -> Flowing:
    """Flows of an exported plan that are to stay, if it has the same brokers."""
    plan = read_plan(folder)
    if plan.brokers != tuple(brokers):
        raise WeftError(f"{folder} is a plan for other brokers, which cannot be kept: export a new one.")
    return plan.flowing


def _bridge(given: Mapping[str, Any]) -> Bridge:
    return Bridge(given["owner"], given["remote"], tuple(Line(**line) for line in given["lines"]))


def _named_flows(plan: Plan) -> dict[str, pa.Array]:
    brokers, topics = pa.array(plan.brokers, pa.string()), pa.array(plan.topics, pa.string())
    return {
        "topic": topics.take(pa.array(plan.flows.topics)),
        "source": brokers.take(pa.array(plan.flows.sources)),
        "target": brokers.take(pa.array(plan.flows.targets)),
    }


def _flowing(plan: Plan) -> Flowing:
    return hops_of(*(column.to_pylist() for column in _named_flows(plan).values()))


def _in_words(found: Change) -> str:
    if not found.changed:
        return "# Changes\n\nNone: the plan that runs is as good.\n"
    steps = "".join(f"{number}. {step}\n" for number, step in enumerate(found.steps, 1))
    head = f"# Changes\n\n{len(found.changed)} configurations change: {', '.join(found.changed)}.\n\n{steps}\n"
    if not found.moved:
        return f"{head}No topic moves to other links in a way that could lose or double a message.\n"
    topics = "".join(f"- {topic}\n" for topic in found.moved)
    return f"{head}Who publishes on these topics should wait from the stop until the bridges are up:\n\n{topics}"
