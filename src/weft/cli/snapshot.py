"""weft snapshot"""

from typing import TYPE_CHECKING, Any

from weft.cli import options as o
from weft.cli.operator import MasterAddress, asked
from weft.cli.output import print_result

if TYPE_CHECKING:
    from weft.model.instance import Instance

EXAMPLE = "weft snapshot --out live --master 127.0.0.1:7883"


def snapshot(out: o.OutInstance, master: MasterAddress = None, force: o.Force = False, json: o.Json = False) -> None:
    """Write a running network as an instance: who subscribes to what, rates, and round trips (latency.csv)."""
    import numpy as np

    from weft.model.latency_file import write_named_times
    from weft.model.output import claimed
    from weft.model.storage import new_folder

    with claimed(out, inputs=[], force=force):
        told = asked(master, "snapshot")
        instance = _instance(told)
        with new_folder(out, force=force) as folder:
            instance.write_into(folder)
            if told["round_trips"] is not None:
                write_named_times(folder / "latency.csv", np.array(told["round_trips"]), told["nodes"])
    result = {"instance": str(out), **instance.counts, "publishers": len(instance.given_publishers or ())}
    print_result({**result, "latency": told["round_trips"] is not None}, json)


def _instance(told: dict[str, Any]) -> "Instance":
    from dataclasses import replace

    import numpy as np

    from weft.model.instance import instance_from_pairs
    from weft.model.publisher import Publishers

    pairs = [(node, topic) for node, topics in enumerate(told["interest"]) for topic in topics]
    instance = instance_from_pairs(
        [node for node, _ in pairs],
        [topic for _, topic in pairs],
        node_count=len(told["nodes"]),
        topic_count=len(told["topics"]),
        node_names=np.array(told["nodes"], object),
        topic_names=np.array(told["topics"], object),
        source="a live network",
    )
    if told["publishers"] is None:
        return instance
    nodes, topics, rates = told["publishers"]
    publishers = Publishers(np.array(nodes, np.int32), np.array(topics, np.int32), np.array(rates))
    return replace(instance, given_publishers=publishers)
