"""CSV that users give: one rule for all kinds of it, whatever wrote the file."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import weft
from weft.errors import WeftError
from weft.fleet.reading import read_running
from weft.raw.topic import read_topics
from weft.raw.traffic import read_traffic

FILES = {
    "subscriptions": ["client,topic", "a,x", "b,x", "c,y", "a,y"],
    "latencies": ["a,b,ms", "a,b,3", "b,c,4", "a,c,5"],
    "traffic": ["topic,node,bytes", "x,a,3", "y,c,4"],
    "topics": ["topic,bytes", "x,1", "y,2"],
    "brokers": ["name,host,port", "a,h1,1", "b,h2,2"],
    "clients": ["client,broker,filter", "k1,a,x", "k2,b,x"],
    "publishers": ["broker,topic,rate", "a,x,2"],
}


def written(kind: str, change: Callable[[list[str]], list[str]] = list, end: str = "\n", mark: bytes = b"") -> Path:
    path = Path(f"{kind}.csv")
    path.write_bytes(mark + "".join(f"{line}{end}" for line in change(FILES[kind])).encode())
    return path


def read(kind: str, path: Path) -> object:
    """What is read of the file, to be compared."""
    match kind:
        case "subscriptions":
            return weft.ingest(path, "subscriptions", columns=("client", "topic"))
        case "latencies":
            times = weft.read_latency(path)
            return times.names, times.matrix.tolist()
        case "traffic":
            log = read_traffic(path, weft.ingest(Path("plain.csv"), "subscriptions"), {"size": "bytes"})
            return log.topics.tolist(), log.nodes.tolist(), log.sizes.tolist(), log.unused
        case "topics":
            return read_topics(str(path))
    given = {one: Path(f"plain-{one}.csv") for one in ("brokers", "clients", "publishers")} | {kind: path}
    fleet = read_running("csv", [given["clients"]], brokers=given["brokers"], publishers=given["publishers"])
    return fleet.brokers, fleet.instance


@pytest.fixture(autouse=True)
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.csv").write_text("node,topic\na,x\nb,x\nc,y\na,y\n")
    for kind in ("brokers", "clients", "publishers"):
        written(kind).rename(f"plain-{kind}.csv")


def between(mark: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [line.replace(",", mark) for line in lines]


WAYS: dict[str, dict[str, object]] = {
    "semicolons": {"change": between(";")},
    "tabs": {"change": between("\t")},
    "bars": {"change": between("|")},
    "blanks": {"change": between(" , ")},
    "capitals": {"change": lambda lines: [lines[0].upper(), *lines[1:]]},
    "quotes": {"change": lambda lines: ['"' + line.replace(",", '","') + '"' for line in lines]},
    "empty lines": {"change": lambda lines: ["", lines[0], "", *lines[1:], ""]},
    "Windows' ends of lines": {"end": "\r\n"},
    "a byte order mark": {"mark": b"\xef\xbb\xbf"},
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_says_the_same_in_whatever_way_it_is_written(kind: str) -> None:
    expected = read(kind, written(kind))
    for way, how in WAYS.items():
        assert read(kind, written(kind, **how)) == expected, way  # type: ignore[arg-type]
    packed = Path(f"{kind}.csv.gz")
    packed.write_bytes(gzip.compress(written(kind).read_bytes()))
    assert read(kind, packed) == expected


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_read_is_a_sentence(kind: str) -> None:
    twice = written(
        kind, lambda lines: [f"{lines[0]},{lines[0].partition(',')[0]}", *(f"{one},z" for one in lines[1:])]
    )
    with pytest.raises(WeftError, match=r"twice: give each column a name|4 fields: give two names and a time"):
        read(kind, twice)
    for text, told in (
        ("\n".join(FILES[kind]).encode("utf-16"), "UTF-16: save it as UTF-8|neither text"),
        ("\n".join(FILES[kind]).replace("\n", "\nü", 1).encode("latin-1"), "not UTF-8|neither text"),
        (b"", "empty|its first line has to name"),
    ):
        path = Path(f"{kind}.csv")
        path.write_bytes(text)
        with pytest.raises(WeftError, match=told):
            read(kind, path)
    if kind in ("subscriptions", "latencies", "traffic", "brokers"):
        with pytest.raises(WeftError):
            read(kind, written(kind, lambda lines: lines[:1]))
