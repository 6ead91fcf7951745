"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.errors import WeftError
from weft.model.forwarding import Distance, Ends, Pivots
from weft.model.ring import Phases
from weft.model.seed import require_seed
from weft.raw.source import Format, Kind, OnBadRow, Source, sample_of

LOCAL = "local[*]"

Seed = Annotated[int, typer.Option(help="Same seed, same result.", callback=require_seed)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
OutInstance = Annotated[Path, typer.Option("--out", help="Folder for the instance.", show_default=False)]
InInstance = Annotated[Path, typer.Argument(metavar="INSTANCE", help="Folder of an instance.", show_default=False)]
InOverlay = Annotated[Path, typer.Argument(metavar="OVERLAY", help="Folder of an overlay.", show_default=False)]
OutOverlay = Annotated[Path, typer.Option("--out", help="Folder for the overlay.", show_default=False)]
OverlayName = Annotated[
    Literal[
        "chord",
        "random",
        "grswico",
        "swico-s",
        "swico-l",
        "swico-sl",
        "swico-even",
        "gm",
        "dc",
        "dcbc",
        "ring-per-topic",
        "star",
        "tree",
    ],
    typer.Option(
        "--overlay",
        metavar="NAME",
        help="With a ring: chord, random, grswico, swico-s, swico-l, swico-sl, swico-even. "
        "Topic-connected: gm, dc, dcbc, ring-per-topic. As drawn by hand: star, tree.",
    ),
]
# For the help only: names are looked up in the catalog of routers, which `weft --help` does not load.
ROUTERS = "po, pal, pie, scribe, iscribe or weave"
SYSTEMS = (
    "vitis, which makes links of its own, or popsub-tree, popsub-direct, popsub-batch, popsub-gossip, popsub-adaptive "
    "over a star or tree"
)
RouterName = Annotated[str, typer.Option("--router", metavar="NAME", help=f"{ROUTERS}.")]
Links = Annotated[
    Ends | None,
    typer.Option(
        "--links",
        metavar="own|both",
        help="Of routers on the ring: send over a node's own fingers, or over fingers from both ends. Default: own.",
    ),
]
RingDistance = Annotated[
    Distance | None,
    typer.Option(
        "--distance",
        metavar="clockwise|absolute",
        help="Of routers on the ring: what is nearest to the target; absolute goes with --links both. "
        "Default: clockwise.",
    ),
]
PivotNodes = Annotated[
    Pivots | None,
    typer.Option(
        "--pivots",
        metavar="own|neighbours",
        help="Of po, pal and pie: next hops are a node's own fingers, or also the nodes with a finger to it. "
        "Default: own.",
    ),
]
PhasesOfFingers = Annotated[
    Phases | None,
    typer.Option(
        "--phases",
        metavar="whole|cut",
        help="Of overlays of the papers with a ring: whole leaves out the finger of the last phase where the number of "
        "nodes cuts it short; then a node has floor(log2 of the nodes).",
    ),
]
FanOut = Annotated[
    int | None,
    typer.Option(
        "--fan-out", metavar="N", help="Of weave: neighbours that a node has in a topic's tree at most. Default: 64."
    ),
]
LoadWeight = Annotated[
    float | None,
    typer.Option(
        "--load-weight",
        metavar="HOPS",
        help="Of weave: by how many hops a path may be longer to spare a node that sends the mean. Default: 1.",
    ),
]
Rates = Annotated[
    Path | None,
    typer.Option(
        "--rates",
        metavar="FILE",
        help="Of weave: how often topics are published on, as rows of topic and rate, or as publications to count; "
        "CSV is by names. "
        "Default: by the instance's publishers, or equal.",
    ),
]
Latency = Annotated[
    str | None,
    typer.Option(
        "--latency",
        metavar="FILE",
        help="Round-trip times: swico-l, swico-sl, swico-even, gm, dc, dcbc and weave go by them, and deliveries are "
        "timed. CSV is by name: a,b,ms or a matrix with names. Where file or nodes have no names, the seed places "
        "nodes on hosts.",
    ),
]
DrawHosts = Annotated[
    bool,
    typer.Option("--draw-hosts", help="Of --latency: the seed places nodes on its hosts, whatever their names."),
]
FleetReport = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Of a fleet: a page with it and a plan for it, drawn.")
]
Engine = Annotated[
    Literal["local", "spark"],
    typer.Option(metavar="local|spark", help="In this process, or on Spark; both give the same result."),
]
Master = Annotated[
    str | None,
    typer.Option(
        help="Spark master: local[*], spark://host:7077, yarn, k8s://..., sc://host. Default: local[*].",
        show_default=False,
    ),
]
Conf = Annotated[list[str], typer.Option("--conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.")]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"] | None,
    typer.Option(
        metavar="debug|info|warning|error", help="Log what is at least that much. Default: info.", show_default=False
    ),
]

# How raw files are read.
As = Annotated[
    Kind | None,
    typer.Option(
        "--as",
        metavar="edges|follows|subscriptions",
        help="What a row says: u and v are friends; u follows v; node u subscribes to topic v.",
        show_default=False,
    ),
]
FileFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="edges|csv|json-lines|json-map|parquet",
        help="Of the files, where their name does not show it. edges: two ids a line with white space between.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="The two columns that hold the ids, by order or as node=A,topic=B: names, or numbers from 1.",
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Of CSV. Default: the comma, semicolon, tab or bar that the first line has.")
]
Header = Annotated[bool, typer.Option(help="Whether CSV starts with the names of its columns.")]
BadRow = Annotated[
    OnBadRow,
    typer.Option(metavar="stop|skip", help="A row that cannot be read: stop, or keep it in rejected.parquet."),
]

Topics = Annotated[
    str | None,
    typer.Option(
        "--topics",
        metavar="FILE",
        help="Topics that are published on, one a line, or a traffic log: filters with + and # are expanded to those "
        "that they match.",
        show_default=False,
    ),
]


def source_of(
    files: list[str],
    kind: Kind | None,
    format_: Format | None,
    columns: str | None,
    delimiter: str | None,
    header: bool,
    on_bad_row: OnBadRow,
    topics: str | None,
) -> Source:
    for file in files:
        sample_of(file)
    if kind is None:
        raise WeftError(
            f"What do the rows of {files[0]} say? Tell with --as edges, --as follows or --as subscriptions."
        )
    pair = None if columns is None else _pair_of_columns(columns)
    return Source(tuple(files), kind, format_, pair, delimiter, header, on_bad_row, topics)


def named_columns(text: str) -> dict[str, str]:
    """Our columns by the names that a file has for them."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    for ours, sign, theirs in pairs:
        if not (ours.strip() and sign and theirs.strip()):
            raise WeftError(f"--columns is {text!r}: say what the file calls ours, as in --columns node=client.")
    return {ours.strip().lower(): theirs.strip() for ours, _, theirs in pairs}


def _pair_of_columns(text: str) -> tuple[str, str]:
    """The two columns of ids: in their order, or by name."""
    if "=" in text:
        given = named_columns(text)
        if given.keys() == {"node", "topic"}:
            return given["node"], given["topic"]
    pair = text.split(",")
    if len(pair) != 2 or "=" in text:
        raise WeftError(
            f"--columns is {text!r}: name two columns, as in --columns user,topic or --columns node=user,topic=channel."
        )
    return pair[0], pair[1]


def spark_conf(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[0] or "=" not in pair:
            raise WeftError(f"--conf {pair!r} is not KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def spark_settings(engine: str, master: str | None, pairs: list[str]) -> tuple[str, dict[str, str]]:
    """Master and settings of a session; an error where they are given and no Spark runs."""
    if engine != "spark" and (master is not None or pairs):
        flag = "--conf" if master is None else "--master"
        raise WeftError(f"{flag} is for Spark, and --engine is {engine}: give --engine spark, or leave {flag} out.")
    return master or LOCAL, spark_conf(pairs)


def given(*paths: "Path | str | None") -> list[Path]:
    """Paths that were given, of these."""
    return [Path(path) for path in paths if path is not None]


def is_instance(paths: list[str]) -> bool:
    return len(paths) == 1 and (Path(paths[0]) / "meta.json").is_file()
