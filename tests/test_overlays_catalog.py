import pytest

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import read_overlay
from weft.overlays.catalog import BUILDERS, WITHOUT_RING, chosen_options, design, options_of

INSTANCE = random_instance(1, 12, 4, 0.5)


def test_the_meta_tells_how_the_overlay_was_made(tmp_path):
    design(INSTANCE, "swico-s", seed=7, long="random").write(tmp_path / "overlay")
    meta = read_overlay(tmp_path / "overlay").meta
    assert meta["algorithm"] == "swico-s"
    assert meta["parameters"] == {"long": "random", "phases": "cut"}
    assert meta["seed"] == 7
    assert meta["instance"] == INSTANCE.fingerprint
    assert meta["seconds"] > 0


@pytest.mark.parametrize("name", BUILDERS)
def test_those_without_a_ring_are_known(name):
    assert (design(INSTANCE, name, seed=1).ring_ids is None) == (name in WITHOUT_RING)


def test_an_option_that_is_none_takes_its_default():
    chosen = chosen_options("grswico", {"tie": None, "fill": "overlap"})
    assert chosen == {"tie": "random", "fill": "overlap", "in_degree": None, "phases": "cut"}


def test_the_papers_versions_are_the_default():
    assert all(chosen_options(name, {}).get("tie", "random") == "random" for name in BUILDERS)
    assert all(chosen_options(name, {}).get("fill", "random") == "random" for name in BUILDERS)


def test_options_are_those_of_the_builder():
    assert list(options_of("star")) == []
    assert list(options_of("swico-sl")) == ["tie", "fill", "latency", "closeness", "in_degree", "arc", "phases"]
    assert options_of("swico-s")["long"].choices == ("chord", "random")


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("swiko", {}, "There is no overlay 'swiko': choose one of chord, random, "),
        ("star", {"long": "chord"}, "star takes no option `long`: it has no options"),
        ("swico-l", {"long": "chord"}, "swico-l takes no option `long`: its options are `tie`, `fill`"),
        ("swico-s", {"long": "short"}, "`long` short is unknown to swico-s: choose one of chord, random"),
        ("chord", {"seed": -1}, "`seed` -1 is out of range"),
        ("chord", {"seed": 2**63}, "is out of range"),
    ],
)
def test_a_wrong_request_is_answered_in_a_sentence(name, options, sentence):
    with pytest.raises(WeftError) as error:
        design(INSTANCE, name, **{"seed": 1, **options})
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", BUILDERS)
def test_an_instance_without_nodes_has_no_overlay(name):
    with pytest.raises(WeftError, match="no nodes"):
        design(instance_from_pairs([], []), name, seed=1)
