"""What any process of ours counts of itself, in Prometheus' text format."""

from weft.live.defect import Defects
from weft.live.log import Log


def process_metrics(log: Log, defects: Defects) -> str:
    lines = []
    for name, value, told in (
        ("weft_log_dropped_total", log.dropped, "Lines of the log that could not be written."),
        ("weft_defects_total", defects.count, "Connections that a defect of Weft has ended; see the log."),
    ):
        lines += [f"# HELP {name} {told}", f"# TYPE {name} counter", f"{name} {value}"]
    return "\n".join(lines) + "\n"
