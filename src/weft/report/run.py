"""The report of a run."""

from pathlib import Path
from typing import Any

from weft.model.instance import read_instance
from weft.model.profile import profile
from weft.report.figure import ccdf
from weft.report.page import facts, write_page


def write_run_report(out: Path, instance: Path) -> dict[str, Any]:
    made = read_instance(instance)
    degrees = {"topics of a node": made.interest.counts, "subscribers of a topic": made.subscribers.counts}
    sections = [
        ("The instance", facts(profile(made))),
        ("Who listens to how much", ccdf(degrees, "count")),
    ]
    write_page(out, f"Weft: {made.nodes:,} nodes, {made.topics:,} topics", sections)
    return {}
