import pickle
from itertools import pairwise

import numpy as np
import pytest

from weft.errors import WeftError
from weft.model.csr import csr_from_pairs
from weft.model.instance import read_instance
from weft.workloads.catalog import MAKERS, generate, workload

SIZES = {"nodes": 400}


@pytest.mark.parametrize("name", MAKERS)
def test_slices_make_up_the_instance(name):
    whole = generate(name, seed=4, **SIZES).interest
    cuts = [0, 1, 1, 130, 400]
    slices = [workload(name, **SIZES).pairs(4, first, last) for first, last in pairwise(cuts)]
    nodes, topics = (np.concatenate(column).astype(np.int64) for column in zip(*slices, strict=True))
    united = csr_from_pairs(nodes, topics, whole.rows, whole.columns)
    assert np.array_equal(united.indptr, whole.indptr)
    assert np.array_equal(united.indices, whole.indices)


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_decides(name):
    one, again, other = (generate(name, seed=seed, **SIZES).fingerprint for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize("name", MAKERS)
def test_an_instance_tells_how_it_was_made(name, tmp_path):
    instance = generate(name, seed=4, **SIZES)
    instance.write(tmp_path / "instance")
    meta = read_instance(tmp_path / "instance").meta
    assert meta["source"] == f"generated {name}"
    assert meta["seed"] == 4
    again = type(workload(name, **SIZES))(**meta["parameters"]).interest(meta["seed"])
    assert np.array_equal(again.indices, instance.interest.indices)
    assert instance.is_social == (name == "social")


@pytest.mark.parametrize("name", MAKERS)
def test_a_workload_can_be_sent(name):
    made = workload(name, **SIZES)
    assert pickle.loads(pickle.dumps(made)) == made


def test_defaults_are_the_papers():
    assert generate("zipf", nodes=10, topics=100, seed=1).subscriptions == 200
    low = generate("low", nodes=10, seed=1)
    assert (low.topics, low.subscriptions) == (1000, 500)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("zipff", {}, "no workload 'zipff': choose one of unif, zipf, expo, random, low, high"),
        ("unif", {"exponent": 2.0}, "unif takes no option `exponent`"),
        ("random", {"buckets": 3}, "random takes no option `buckets`"),
        ("unif", {"nodes": 0}, "`nodes` 0 is out of range"),
        ("unif", {"seed": -1}, "`seed` -1 is out of range"),
        ("unif", {"seed": 2**63}, "`seed` 9223372036854775808 is out of range"),
    ],
)
def test_wrong_options_are_named(name, options, sentence):
    with pytest.raises(WeftError, match=sentence):
        generate(name, **{"nodes": 10, "seed": 1, **options})


def test_a_workload_needs_nodes():
    with pytest.raises(WeftError, match="unif needs `nodes`"):
        workload("unif")
