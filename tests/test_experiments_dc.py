"""The DC paper's experiments: what a run measures, and which runs figures share."""

import numpy as np
import pytest

from greedy_reference import AnyLink, assert_greedy, random_instance
from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.measures import connected
from weft.experiments.measures.connected import drawn_instance
from weft.experiments.measures.printed import printed_dc, printed_dcbc, printed_gm, printed_join
from weft.experiments.runs.connected import JOINS, STATISTICS, ConnectedRun, Drawn, StatisticRun
from weft.kernels.greedy.textbook_gm import textbook_gm
from weft.overlays.catalog import design
from weft.overlays.lazy_greedy import ChosenLinks
from weft.overlays.quality import quality
from weft.overlays.verify import topic_violations
from weft.workloads.catalog import generate

SMALL = Drawn("unif", 80, 20, 6)


@pytest.fixture(autouse=True)
def _cold_caches():
    yield
    connected._overlay.cache_clear()
    connected._printed.cache_clear()


def test_a_run_measures_the_overlay_that_is_designed():
    instance = generate("independent", nodes=80, topics=20, subscriptions=6, seed=3)
    dc, gm = design(instance, "dc", seed=3), design(instance, "gm", seed=3)
    figures = ConnectedRun(SMALL, "dc", 3).measure()
    found = quality(instance, dc)
    assert figures["average_degree"] == 2 * dc.links / 80
    assert figures["degree_above_gm"] == pytest.approx(2 * (dc.links - gm.links) / 80)
    assert figures["degree_below_dc"] == 0
    assert figures["of_dc_time"] == 1
    assert figures["topic_diameter"] == found["topic_diameter"]["maximum"]
    assert figures["chosen_partitions"] == dc.meta["partitions"]
    assert figures["potential_neighbour_ratio"] == dc.meta["potential_neighbour_ratio"]


def test_time_is_a_share_of_gm_of_the_same_kind():
    gm, ring = (ConnectedRun(SMALL, name, 3).measure() for name in ("gm", "ring-per-topic"))
    assert (gm["of_gm_time"], gm["of_our_gm_time"]) == (1, 1)
    assert gm["printed_seconds"] != gm["design_seconds"]
    assert "of_gm_time" not in ring  # the paper prints no algorithm
    dc = ConnectedRun(SMALL, "dc", 3).measure()
    assert dc["of_gm_time"] == dc["printed_seconds"] / gm["printed_seconds"]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_printed_is_topic_connected_with_about_as_many_links_as_ours(seed):
    """The same partitions, stars and bulk: only ties differ."""
    instance = random_instance(seed, 60, 15, 0.2)
    parts = connected._parts(instance, 3, seed)
    pairs = [
        (printed_dc(instance, seed, 4), design(instance, "dc", seed=seed, partitions=4)),
        (
            printed_dc(instance, seed, 4, "kmeans"),
            design(instance, "dc", seed=seed, partitions=4, partition="kmeans"),
        ),
        (printed_dcbc(instance, seed, 3), design(instance, "dcbc", seed=seed, partitions=3)),
        *(
            (printed_join(instance, parts, JOINS[name]), connected._made(instance, name, seed, 3, None))
            for name in JOINS
        ),
    ]
    for printed, ours in pairs:
        assert topic_violations(instance, printed) == []
        assert printed.links == pytest.approx(ours.links, rel=0.06)


def test_inner_and_outer_links_are_all_links_of_dc():
    whole, inner, outer = (ConnectedRun(SMALL, "dc", 3, 5, None, part).measure() for part in ("all", "inner", "outer"))
    for column in ("average_degree", "design_seconds"):
        assert inner[column] + outer[column] == pytest.approx(whole[column])
        assert outer[column] > 0
    one = ConnectedRun(SMALL, "dc", 3, 1, None, "outer").measure()
    assert one["average_degree"] == 0
    assert ConnectedRun(SMALL, "dc", 3, 1).measure()["degree_above_gm"] == 0


@pytest.mark.parametrize("name", ["nm", "sm"])
def test_joined_overlays_keep_the_links_of_each(name):
    instance = drawn_instance(SMALL, 3)
    made = connected._made(instance, name, 3, 4, None)
    assert topic_violations(instance, made) == []
    inside = made.sources // 20 == made.targets // 20
    assert made.meta["links_across"] == np.count_nonzero(~inside)
    ratio = made.meta["potential_neighbour_ratio"]
    assert ratio == pytest.approx(79 / 80) if name == "nm" else 20 / 80 - 1 / 80 < ratio < 1


@pytest.mark.parametrize("seed", range(4))
def test_gm_as_printed_is_greedy(seed):
    instance = random_instance(seed, 30, 12, 0.3)
    alone = np.arange(30, dtype=np.int32)
    links = textbook_gm(instance.subscribers.indptr, instance.subscribers.indices, 30, alone)
    owners, others = np.divmod(links, 30)
    contributions = greedy_contributions(instance, owners, others)
    assert_greedy(instance, AnyLink(30), ChosenLinks(owners, others, contributions))
    assert printed_gm(instance).links == len(links)


def greedy_contributions(instance, owners, others):
    """Contributions by definition: what every link saves when it is chosen."""
    part = {(node, topic): (node, topic) for node in range(instance.nodes) for topic in instance.interest[node]}
    found = []
    for v, w in zip(owners, others, strict=True):
        saved = 0
        for topic in np.intersect1d(instance.interest[v], instance.interest[w]):
            one, other = part[v, topic], part[w, topic]
            saved += one != other
            part = {key: one if name == other else name for key, name in part.items()}
        found.append(saved)
    return np.array(found)


def test_statistics_are_those_of_the_repetitions():
    runs = [ConnectedRun(SMALL, "dc", 1000 + number).measure() for number in range(3)]
    degrees = [run["average_degree"] for run in runs]
    found = {name: StatisticRun(name, SMALL, 3, 1).measure() for name in STATISTICS}
    assert found["minimum"]["average_degree"] == min(degrees)
    assert found["mean"]["average_degree"] == pytest.approx(np.mean(degrees))
    assert found["standard deviation"]["average_degree"] == pytest.approx(np.std(degrees))
    sizes = [80 / run["chosen_partitions"] for run in runs]
    assert StatisticRun("partition size", SMALL, 3, 1).measure() == {"star_set": pytest.approx(np.mean(sizes))}


def test_figures_share_their_runs():
    def runs(name):
        return set(EXPERIMENTS[name].plan("quick", {}).runs.values())

    assert runs("dc-fig4") == runs("dc-fig5")
    assert runs("dc-fig9") & runs("dc-fig10c") == {
        run for run in runs("dc-fig10c") if run.overlay in ("gm", "dc", "dcbc")
    }
    gm = {run for run in runs("dc-fig7") if run.overlay == "gm"}
    assert len(gm) == 3  # one a popularity, however many partitions DC has
