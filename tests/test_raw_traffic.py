"""Real traffic by names: logs and rates become publishers, and what is drawn and counted goes by them."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import weft
from weft.raw.traffic import read_topic_rates, read_traffic

ROWS = [("hall", "temp"), ("roof", "temp"), ("roof", "wind"), ("cellar", "temp")]
INSTANCE = weft.Instance.from_pandas(pd.DataFrame(ROWS, columns=["broker", "topic"]), "broker", "topic")
CELLAR, HALL, ROOF = range(3)
TEMP, WIND = range(2)


def published(tmp_path: Path, text: str) -> dict[tuple[int, int], float]:
    (tmp_path / "log.csv").write_text(text)
    told = read_traffic(tmp_path / "log.csv", INSTANCE).publishers(INSTANCE)
    return dict(zip(zip(told.nodes.tolist(), told.topics.tolist(), strict=True), told.rates.tolist(), strict=True))


def test_a_log_is_counted_by_publisher_and_topic(tmp_path: Path) -> None:
    rows = "time,broker,topic\n1,hall,temp\n2,hall,temp\n3,cellar,wind\n4,hall,unheard\n"
    assert published(tmp_path, rows) == {(HALL, TEMP): 2, (CELLAR, WIND): 1}
    assert read_traffic(tmp_path / "log.csv", INSTANCE).unheard == 1
    drawn = read_traffic(tmp_path / "log.csv", INSTANCE).publications()
    assert (drawn.topics.tolist(), drawn.nodes.tolist()) == ([TEMP, TEMP, WIND], [HALL, HALL, CELLAR])


def test_rates_are_added_up(tmp_path: Path) -> None:
    assert published(tmp_path, "node,topic,rate\nhall,temp,2.5\nhall,temp,0.5\n") == {(HALL, TEMP): 3}


def test_rates_of_topics_go_by_names_in_csv_and_by_numbers_in_parquet(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("topic,rate\nwind,2\ntemp,0.5\nwind,1\n")
    pd.DataFrame({"topic": [WIND, TEMP], "rate": [3.0, 0.5]}).to_parquet(tmp_path / "rates.parquet")
    for name in ("rates.csv", "rates.parquet"):
        assert read_topic_rates(tmp_path / name, INSTANCE).tolist() == [0.5, 3]


def test_the_rate_of_a_topic_is_shared_by_those_who_may_publish(tmp_path: Path) -> None:
    told = published(tmp_path, "topic,rate\ntemp,6\nwind,1\n")
    assert told == {(CELLAR, TEMP): 2, (HALL, TEMP): 2, (ROOF, TEMP): 2, (ROOF, WIND): 1}


def test_sizes_are_means_by_what_is_published(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("node,topic,rate,size\nhall,temp,3,100\nroof,temp,1,500\n")
    told = read_traffic(tmp_path / "log.csv", INSTANCE).publishers(INSTANCE)
    assert told.topic_sizes(2) == pytest.approx([200, 200])  # nobody publishes wind: the mean of the others


def test_parquet_and_gzip_are_read_as_well(tmp_path: Path) -> None:
    frame = pd.DataFrame({"node": ["hall", "roof"], "topic": ["temp", "temp"]})
    frame.to_parquet(tmp_path / "log.parquet")
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    for name in ("log.parquet", "log.csv.gz"):
        assert len(read_traffic(tmp_path / name, INSTANCE).publications()) == 2


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffBroker, topic\nhall,temp\n",
        '"broker";"topic"\nhall;temp\n',
        "node\ttopic\nhall\ttemp",
        "Node|TOPIC\nhall|temp\n",
    ],
)
def test_headings_are_read_as_people_write_them(tmp_path: Path, text: str) -> None:
    assert published(tmp_path, text) == {(HALL, TEMP): 1}


def test_a_file_of_publications_is_read_by_its_names(tmp_path: Path) -> None:
    drawn = weft.publications(INSTANCE, 5)
    drawn.write(tmp_path / "p.parquet", instance=INSTANCE)
    assert read_traffic(tmp_path / "p.parquet", INSTANCE).publications() == drawn


def test_what_is_known_is_drawn_and_counted(tmp_path: Path) -> None:
    """A publisher that does not subscribe, and nobody else."""
    (tmp_path / "log.csv").write_text("node,topic,size\ncellar,wind,1000\n")
    publishers = read_traffic(tmp_path / "log.csv", INSTANCE).publishers(INSTANCE)
    told = replace(INSTANCE, given_publishers=publishers)
    drawn = weft.publications(told, 20)
    assert set(zip(drawn.nodes.tolist(), drawn.topics.tolist(), strict=True)) == {(CELLAR, WIND)}
    told.write(tmp_path / "i")
    again = weft.Instance.read(tmp_path / "i")
    assert again.has_traffic
    assert not weft.generate("social", nodes=20).has_traffic  # assumed, and not told
    result = weft.evaluate(again, weft.design(again, "swico-even"), "weave", 20)
    assert result.bytes == 1000 * result.messages
    assert result.topics is None
    assert weft.evaluate(INSTANCE, weft.design(INSTANCE, "swico-even"), "weave", 20).bytes is None


LOG = "Timestamp,client,topic,bytes\n1,hall,temp,10\n2,roof,temp,30\n3,roof,sky,1\n4,roof,sky,1\n5,roof,sea,1\n"


def test_columns_that_are_not_used_are_listed_and_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    told = read_traffic(tmp_path / "log.csv", INSTANCE)
    assert (told.nodes, told.sizes, told.unused) == (None, None, ("Timestamp", "client", "bytes"))
    assert (told.unheard, told.unheard_topics) == (3, ("sky", "sea"))
    named = read_traffic(tmp_path / "log.csv", INSTANCE, {"broker": "CLIENT", "size": "bytes"})
    assert named.nodes is not None
    assert named.sizes is not None
    assert (named.nodes.tolist(), named.sizes.tolist(), named.unused) == ([HALL, ROOF], [10, 30], ("Timestamp",))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"who": "client"}, "`columns` names 'who', and there are topic, node, rate, size"),
        ({"node": "who"}, "log.csv has no column 'who'; it has Timestamp, client, topic, bytes"),
        ({"node": "topic"}, "has one column 'topic' for two of ours"),
        ({}, "has no column 'topic'; it has a, b: name one with `columns` topic=THEIRS"),
    ],
)
def test_columns_that_are_named_wrong_are_told(tmp_path: Path, columns: dict[str, str], told: str) -> None:
    (tmp_path / "log.csv").write_text(LOG if columns else "a,b\n1,2\n")
    with pytest.raises(weft.WeftError, match=told):
        read_traffic(tmp_path / "log.csv", INSTANCE, columns)


AMISS = {
    "no topic": ("node,rate\nhall,1\n", "log.csv has no column 'topic'; it has node, rate"),
    "a publisher that is no node": (
        "node,topic\nattic,temp\nshed,temp\n",
        "has 'attic' and 1 more as publishers, not nodes",
    ),
    "a rate in words": ("topic,rate\ntemp,often\n", "has 'often' as the rate of row 1: give a number from 0"),
    "a rate below nothing": ("topic,rate\ntemp,-1\n", "has '-1' as the rate of row 1"),
    "a size left out": ("topic,size\ntemp,\n", "has '' as the size of row 1"),
    "no rate at all": ("topic,rate\ntemp,0\n", "has no rate above 0"),
    "nothing": ("", "is empty"),
    "a column twice": ("topic,rate,Rate\ntemp,1,2\n", "has the column 'rate' twice: give each column a name"),
    "binary": ("\0\1", "is binary, not text"),
    "topics of somewhere else": ("node,topic\nhall,jazz\n", "has no topic with subscribers"),
    "ragged rows": ("node,topic\nhall\n", "cannot be read as CSV with a heading"),
}


@pytest.mark.parametrize(("text", "told"), AMISS.values(), ids=AMISS.keys())
def test_traffic_that_is_amiss_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(weft.WeftError, match=told) as error:
        published(tmp_path, text)
    assert "log.csv" in str(error.value)


def test_a_log_without_publishers_cannot_be_replayed(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("topic,rate\ntemp,6\n")
    with pytest.raises(weft.WeftError, match="does not say who publishes"):
        read_traffic(tmp_path / "log.csv", INSTANCE).publications()
