"""The order of tests among workers, each of which begins with a share of as many and takes over from others later.

One worker begins with all tests on Spark: a second Java would be slow again at everything that the first has compiled
by then. The others begin with the tests that take longest, most of which wait for processes and not for the processor,
so that nobody is left alone with one of them in the end. What is taken over comes from the end of another's share.
"""

from collections.abc import Sequence

import pytest

LONG = (  # files, the longest first; one after the other they go to the next worker
    *("test_benchmarks.py", "test_pipeline_cluster.py", "test_live_network_of_eight.py", "test_pipeline_connect.py"),
    *("test_ending.py",),
    *("test_live_node.py", "test_live_network.py", "test_fleet_mosquitto.py", "test_mqtt_conformance_network.py"),
    *(
        "test_mqtt_beside.py",
        "test_live_bench.py",
        "test_live_faults.py",
        "test_kernels_machine_code.py",
        "test_sim_vitis.py",
    ),
    *("test_protocol_vitis_network.py", "test_notebook.py", "test_first_use.py", "test_protocol_popsub_delivery.py"),
)


def in_shares(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    on_spark, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (on_spark if "spark" in getattr(item, "fixturenames", ()) else others).append(item)
    heads: list[list[pytest.Item]] = [on_spark, *([] for _ in range(workers - 1))]
    for place, name in enumerate(LONG):
        heads[1 + place % (workers - 1)] += [item for item in others if item.path.name == name]
    rest = [item for item in others if item.path.name not in LONG]
    ordered: list[pytest.Item] = []
    for place, head in enumerate(heads):
        room = max(0, len(items) * (place + 1) // workers - len(ordered) - len(head))
        ordered += head + rest[:room]
        del rest[:room]
    return ordered + rest
