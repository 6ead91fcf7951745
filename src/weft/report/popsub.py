"""PopSub's ways side by side: a table, files of CSV, and a page with the kinds of plots that the paper has."""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weft.report.figure import COLOURS, STYLE, svg
from weft.report.page import comparison, download, figure, section, write_page
from weft.sim.popsub_case import PopSubResult, WayResult

Figures = Mapping[str, Any]

COLUMNS = {  # of the table on a terminal
    "unpopular": "unpopular by",
    "phi": "phi",
    "seed": "seed",
    "deliveries": "deliveries",
    "missed": "missed",
    "unpopular_deliveries": "unpopular",
    "forwards": "forwards",
    "pure_forwards": "pure",
    "out_of_overlay": "out of overlay",
    "cost": "cost",
    "gain": "gain",
    "popular_latency": "popular ms",
    "unpopular_latency": "unpopular ms",
    "queue": "queue",
    "load": "load",
}
PANELS = {  # as in Figs. 3 and 4
    "gain": "Publication gain ratio",
    "pure_forwards": "Pure forwards",
    "unpopular_deliveries": "Unpopular deliveries",
    "popular_latency": "Popular delivery latency, 99th percentile, ms",
    "unpopular_latency": "Unpopular delivery latency, 99th percentile, ms",
    "unpopular_latency_90": "Unpopular delivery latency, 90th percentile, ms",
    "direct_forwards": "Direct forwards of a publication, 99th percentile",
    "groups": "Gossip groups",
    "gossip_false_positives": "Gossip false positives",
    "matches_per_gossip": "Matches per gossip",
    "queue": "Average queue, publications",
    "cost": "Cost: matchings and messages",
}
WIDTH = 2
LISTED = 20  # links and advertisements on the page


def lines(ways: Sequence[Figures]) -> list[list[str]]:
    """Rows of a table, the heading first; columns that say nothing are left out."""
    shown = [name for name in COLUMNS if _says_something(name, ways)]
    return [[COLUMNS[name] for name in shown], *([_cell(way[name]) for name in shown] for way in ways)]


def _says_something(name: str, ways: Sequence[Figures]) -> bool:
    if name == "seed":
        return len({way["seed"] for way in ways}) > 1
    return name != "missed" or any(way["missed"] for way in ways)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_results(folder: Path, summary: Mapping[str, Any], result: PopSubResult | None) -> None:
    """Files of CSV and a page; links and advertisements are of a run of one seed and plan."""
    ways = summary["ways"]
    _write(folder / "ways.csv", [list(ways[0]), *(list(way.values()) for way in ways)])
    if result is not None:
        _write(folder / "links.csv", _rows(result, lambda way: way.links))
        _write(folder / "advertisements.csv", _rows(result, lambda way: way.advertisements))
    write_page(folder / "popsub.html", "PopSub on these brokers", _body(summary, result))


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _rows(result: PopSubResult, of: Callable[[WayResult], Any]) -> list[Sequence[object]]:
    tables = [(way.unpopular, of(way).to_arrow()) for way in result.ways]
    rows: list[Sequence[object]] = [["unpopular", *tables[0][1].column_names]]
    for name, table in tables:
        columns = [column.to_pylist() for column in table.columns]
        rows += ([name, *row] for row in zip(*columns, strict=True))
    return rows


def _body(summary: Mapping[str, Any], result: PopSubResult | None) -> str:
    ways: list[dict[str, Any]] = summary["ways"]
    sizes = ", ".join(
        f"{summary[name]:,} {name}" for name in ("brokers", "advertisements", "subscriptions", "publications")
    )
    parts = [
        f"<p>{sizes}. A column is a way for publications that are unpopular on a link; the tree is the baseline.</p>"
    ]
    parts.append(section("Figures", comparison({_label(way, ways): _shown(way) for way in ways})))
    parts.append(section("As the paper draws them", figure(_panels(ways), wide=True)))
    if result is not None:
        latencies = figure(_latencies(result), "The share of deliveries that took no longer.", wide=True)
        parts.append(section("How long deliveries take", latencies))
        parts.append(section("How gain is spread", figure(_gains(result), _GAINS, wide=True)))
        files = [
            download(f"{name}.csv", _rows(result, of)) for name, of in (("links", _links), ("advertisements", _ads))
        ]
        parts.append(section("Links and advertisements", f"<p>By every way: {' '.join(files)}</p>{_busiest(result)}"))
    return "\n".join(parts)


_GAINS = "Advertisements by what their publications gain, best first; those of the first way."


def _links(way: WayResult) -> Any:
    return way.links


def _ads(way: WayResult) -> Any:
    return way.advertisements


def _label(way: Figures, ways: Sequence[Figures]) -> str:
    """The way, with what else sets the run apart."""
    label = str(way["unpopular"])
    if way["phi"] is not None and len({each["phi"] for each in ways} - {None}) > 1:
        label += f", φ {way['phi']:.3g}"
    return label + (f", seed {way['seed']}" if len({each["seed"] for each in ways}) > 1 else "")


def _shown(way: Figures) -> dict[str, Any]:
    figures = {name: value for name, value in way.items() if name not in ("unpopular", "seed")}
    return {
        name: round(value) if isinstance(value, float) and value >= 10_000 else value for name, value in figures.items()
    }


def _panels(ways: Sequence[Figures]) -> str:
    """Bars for one value of phi; lines over phi for several."""
    drawn = [name for name in PANELS if any(way[name] for way in ways)]
    by_phi = len({way["phi"] for way in ways} - {None}) > 1
    with matplotlib.rc_context(STYLE):
        rows = -(-len(drawn) // WIDTH)
        picture = Figure(figsize=(4.2 * WIDTH, 3.0 * rows), layout="constrained")
        places = picture.subplots(rows, WIDTH, squeeze=False).flatten()
        for axes, name in zip(places, drawn, strict=False):
            (_draw_lines if by_phi else _draw_bars)(axes, name, ways)
            axes.set_title(PANELS[name], fontsize="medium")
            axes.grid(True, axis="both" if by_phi else "y")
        for unused in places[len(drawn) :]:
            unused.remove()
        return svg(picture)


def _systems(ways: Sequence[Figures]) -> dict[str, str]:
    names = dict.fromkeys(way["unpopular"] for way in ways)
    return dict(zip(names, COLOURS, strict=False))


def _mean(name: str, ways: Sequence[Figures]) -> float:
    values = [way[name] for way in ways if way[name] is not None]
    return float(np.mean(values)) if values else np.nan


def _draw_bars(axes: Axes, name: str, ways: Sequence[Figures]) -> None:
    for place, (system, colour) in enumerate(_systems(ways).items()):
        value = _mean(name, [way for way in ways if way["unpopular"] == system])
        axes.bar(place, value if np.isfinite(value) else 0, color=colour, width=0.7)
        if not np.isfinite(value):
            axes.text(place, 0, "-", ha="center", va="bottom")
    axes.set_xticks(range(len(_systems(ways))), list(_systems(ways)))


def _draw_lines(axes: Axes, name: str, ways: Sequence[Figures]) -> None:
    for system, colour in _systems(ways).items():
        mine = [way for way in ways if way["unpopular"] == system]
        at = sorted({way["phi"] for way in mine if way["phi"] is not None})
        if at:
            axes.plot(
                at, [_mean(name, [w for w in mine if w["phi"] == phi]) for phi in at], ".-", color=colour, label=system
            )
        else:
            axes.axhline(_mean(name, mine), ls="--", lw=1, color=colour, label=system)
    axes.set_xlabel("φ")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def _latencies(result: PopSubResult) -> str:
    with matplotlib.rc_context(STYLE):
        picture = Figure(figsize=(8, 3.6), layout="constrained")
        axes = picture.add_subplot()
        for colour, way in zip(COLOURS, result.ways, strict=False):
            for popular, style in ((True, "-"), (False, "--")):
                milliseconds, counts = way.latencies(popular)
                if len(counts):
                    share = np.cumsum(counts) / counts.sum()
                    label = way.unpopular if popular else f"{way.unpopular}, unpopular"
                    axes.step(
                        np.maximum(milliseconds, 0.5), share, style, where="post", color=colour, lw=1.4, label=label
                    )
        axes.set(xscale="log", xlabel="milliseconds", ylabel="share of deliveries")
        axes.set_ylim(0, 1.02)
        axes.grid(True)
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return svg(picture)


def _gains(result: PopSubResult) -> str:
    gains = np.sort(np.asarray(result.ways[0].advertisements["mean_gain"]))[::-1]
    with matplotlib.rc_context(STYLE):
        picture = Figure(figsize=(8, 3.2), layout="constrained")
        axes = picture.add_subplot()
        axes.plot(np.arange(1, len(gains) + 1), gains, ".-", ms=4, lw=1, color=COLOURS[0])
        axes.set(xlabel="advertisements, best first", ylabel="mean gain at their brokers")
        axes.set_ylim(bottom=0)
        axes.grid(True)
        return svg(picture)


def _busiest(result: PopSubResult) -> str:
    """The links with the most forwards, by each way."""
    first = result.ways[0].links.to_arrow().to_pylist()
    top = sorted(range(len(first)), key=lambda row: -first[row]["forwards"])[:LISTED]
    by_way = {way.unpopular: way.links["forwards"] for way in result.ways}
    named = {f"{first[row]['source']} → {first[row]['target']}": row for row in top}
    columns = {name: {link: int(forwards[row]) for link, row in named.items()} for name, forwards in by_way.items()}
    return f"<p>Forwards over the {len(named)} busiest links:</p>" + comparison(columns)
