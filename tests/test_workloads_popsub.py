import numpy as np
import pytest

from weft.errors import WeftError
from weft.workloads.followers import zipf_popularity
from weft.workloads.popsub import CONTENT, Setting, advertisement_classes, class_popularity, content_workload

TOP = np.array([0, 2, 5], np.int32)


def workload(seed=1, publishers=40, **setting):
    return content_workload(zipf_popularity(publishers, 0.5), TOP, 20, Setting(**setting), seed)


def test_the_paper_s_numbers():
    made = workload(publishers=200)
    assert made.publications == 120_000
    assert len(made.subscribers) == 22_000
    assert np.array_equal(np.bincount(made.advertisements), [600] * 200)
    assert set(made.publishers) == set(TOP)
    assert set(made.subscribers) == set(range(20))
    assert len(np.unique(made.classes)) == 20


def test_publishers_publish_at_even_intervals():
    made = workload(rate=4.0, seconds=5.0)
    for publisher in range(40):
        times = made.times[made.advertisements == publisher]
        assert len(times) == 20
        assert np.allclose(np.diff(times), 250)
    assert np.all(np.diff(made.times) >= 0)
    assert 0 <= made.times[0] <= made.times[-1] <= 5000


def test_the_advertisements_of_a_class_divide_its_content():
    made = workload()
    for one in np.unique(made.classes):
        strips = made.strips[made.classes == one]
        covered = np.concatenate([np.arange(low, high + 1) for low, high in strips])
        assert np.array_equal(np.sort(covered), np.arange(CONTENT))
    low, high = made.strips[made.advertisements].T
    assert np.all((low <= made.values[:, 0]) & (made.values[:, 0] <= high))


def test_subscriptions_follow_popularity_and_want_half():
    made = workload(subscriptions=22_000)
    counts = np.bincount(made.followed)
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] / counts[3] == pytest.approx(2, rel=0.01)
    bounds = np.searchsorted(made.followed, np.arange(41))
    for publisher in range(40):
        mine = made.subscribers[bounds[publisher] : bounds[publisher + 1]]
        assert len(mine) == counts[publisher]
        assert np.all(np.diff(mine) >= 0)
    assert np.all((made.ranges[:, 0] == 0) | (made.ranges[:, 1] == CONTENT - 1))
    share = np.mean(made.ranges[:, 1] - made.ranges[:, 0] + 1) / CONTENT
    assert share == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("exponent", [0.05, 1.0])
def test_the_zipf_law_is_over_classes(exponent):
    classes = advertisement_classes(200, 20, seed=3)
    popularity = class_popularity(classes, exponent)
    made = content_workload(popularity, TOP, 20, Setting(), seed=3)
    assert np.array_equal(made.classes, classes)
    of_classes = np.bincount(classes[made.followed], minlength=20)
    law = np.arange(1.0, 21.0) ** -exponent
    assert of_classes / 22_000 == pytest.approx(law / law.sum(), abs=0.001)
    for members in (np.bincount(made.followed, minlength=200)[classes == one] for one in range(20)):
        assert members.max() - members.min() <= 1  # evenly within a class


@pytest.mark.parametrize(("wanted", "share"), [("half", 1 / 2), ("third", 1 / 3), ("all", 1)])
def test_how_much_a_subscription_wants_is_a_choice(wanted, share):
    made = workload(subscriptions=20_000, wanted=wanted)
    assert np.mean(made.ranges[:, 1] - made.ranges[:, 0] + 1) / CONTENT == pytest.approx(share, abs=0.01)
    assert np.all((made.ranges[:, 0] >= 0) & (made.ranges[:, 0] <= made.ranges[:, 1]) & (made.ranges[:, 1] < CONTENT))


def test_the_seed_decides():
    assert np.array_equal(workload(1).values, workload(1).values)
    assert not np.array_equal(workload(1).values, workload(2).values)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"seconds": -1.0}, {"classes": 0}, {"subscriptions": -1}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(WeftError, match="out of range"):
        Setting(**wrong)
