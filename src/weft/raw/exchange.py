"""An exchange from files: who advertises, subscribes and publishes, by the names of brokers.

advertisements, subscriptions   id, broker, class, filter; of advertisements, priority (high or normal) as well
publications                    a log: time, advertisement, and a column an attribute, or `payload` with JSON
rates                           instead of a log: advertisement, rate, and a column an attribute with what its values
                                are drawn from (weft.raw.distribution)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

import numpy as np

from weft.arrays import Bools, Floats, Int64s
from weft.errors import WeftError
from weft.model.content import Filter
from weft.model.exchange import Exchange
from weft.model.expression import parse_filter
from weft.model.matching import Column, first_mismatch, matching_rows
from weft.raw.distribution import draw_values, parse_distribution
from weft.raw.records import Given, Records, flags_of, json_columns, records_of
from weft.raw.table import is_json_lines

TimeUnit = Literal["s", "ms"]

_parsed = lru_cache(maxsize=1 << 16)(parse_filter)


@dataclass(frozen=True, eq=False)
class NamedExchange:
    exchange: Exchange
    advertisements: tuple[str, ...]
    subscriptions: tuple[str, ...]
    rows: Int64s  # of the file, of every publication, which are in the order of time


def read_exchange(
    brokers: Mapping[str, int],
    advertisements: Given,
    subscriptions: Given,
    publications: Given,
    *,
    time_unit: TimeUnit = "s",
    urgent: str | None = None,
    seconds: float = 60.0,
    seed: int = 1,
) -> NamedExchange:
    """An exchange of these brokers; `urgent` is a filter of the publications that have a high priority."""
    advertised = records_of(advertisements, "advertisements")
    wanted = records_of(subscriptions, "subscriptions")
    said = records_of(publications, "publications")
    names = _ids(advertised)
    filters, issuers = _filters(advertised), _brokers(advertised, brokers)
    subscribed, subscribers = _filters(wanted), _brokers(wanted, brokers)
    priority = flags_of(advertised, "priority") if advertised.has("priority") else None
    of = _known(said, names)
    if said.has("rate") and not said.has("time"):
        rows, times, of, columns = _drawn(said, of, seconds, seed)
    else:
        times = _times(said, time_unit)
        rows = np.argsort(times, kind="stable")
        times, of, columns = times[rows], of[rows], _ordered(_columns(said), rows)
    outside = first_mismatch(filters, of, columns)
    if outside is not None:
        name = list(names)[of[outside]]
        raise said.bad(int(rows[outside]), f"its values are outside what advertisement {name!r} announces")
    return NamedExchange(
        Exchange(
            issuers,
            filters,
            subscribers.astype(np.int32),
            subscribed,
            times,
            of,
            columns,
            priority,
            _urgent(urgent, columns, len(times)),
        ),
        tuple(names),
        tuple(_ids(wanted)),
        rows,
    )


def _ids(records: Records) -> dict[str, int]:
    found: dict[str, int] = {}
    for row, name in enumerate(records.texts("id")):
        if name in found:
            raise records.bad(row, f"the id {name!r} is there already: give each row its own")
        found[name] = row
    return found


def _filters(records: Records) -> list[Filter]:
    kinds = records.texts("class")
    texts = records.texts("filter", may_be_empty=True) if records.has("filter") else [""] * len(records)
    filters = []
    for row, (kind, text) in enumerate(zip(kinds, texts, strict=True)):
        try:
            filters.append(_parsed(kind, text))
        except WeftError as error:
            raise records.bad(row, str(error).rstrip(".")) from error
    return filters


def _brokers(records: Records, brokers: Mapping[str, int]) -> Int64s:
    names = records.texts("broker")
    for row, name in enumerate(names):
        if name not in brokers:
            raise records.bad(row, f"no link names the broker {name!r}")
    return np.array([brokers[name] for name in names], np.int64)


def _known(records: Records, advertisements: Mapping[str, int]) -> Int64s:
    names = records.texts("advertisement")
    found = np.array([advertisements.get(name, -1) for name in names], np.int64)
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        row = int(unknown[0])
        raise records.bad(row, f"there is no advertisement {names[row]!r}")
    return found


def _times(records: Records, unit: TimeUnit) -> Floats:
    """Milliseconds from the first publication on."""
    words = records.texts("time")
    if words and _is_number(words[0]):
        times = records.numbers("time") * (1000.0 if unit == "s" else 1.0)
    else:
        times = np.array([_moment(records, row, word) for row, word in enumerate(words)], np.float64)
    return times - times.min() if len(times) else times


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _moment(records: Records, row: int, word: str) -> float:
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise records.bad(row, f"{word!r} is no time: give ISO 8601, as in 2026-01-31T08:00:00Z") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000.0


def _columns(records: Records) -> dict[str, Column]:
    ours = {"time", "advertisement"}
    if records.has("payload"):
        payloads = records.texts("payload", may_be_empty=True)
        return json_columns(records, payloads)
    if records.is_file and is_json_lines(records.name):
        return {name: column for name, column in records.objects().items() if name.lower() not in ours}
    return {name: records.value_column(name) for name in records.columns if name.lower() not in ours}


def _ordered(columns: Mapping[str, Column], rows: Int64s) -> dict[str, Column]:
    return {
        name: Column(
            None if column.numbers is None else column.numbers[rows],
            None if column.texts is None else column.texts[rows],
        )
        for name, column in columns.items()
    }


def _urgent(text: str | None, columns: Mapping[str, Column], count: int) -> Bools | None:
    if text is None:
        return None
    return matching_rows(parse_filter("", text), columns, count)


def _drawn(records: Records, of: Int64s, seconds: float, seed: int) -> tuple[Int64s, Floats, Int64s, dict[str, Column]]:
    """Publications at even intervals by the rate of each row, from a moment of its own on, with values drawn."""
    if not 0 < seconds < np.inf:
        raise WeftError(f"`seconds` {seconds} is out of range: give a time above 0.", "seconds")
    rates = records.numbers("rate")
    negative = np.flatnonzero(rates < 0)
    if len(negative):
        raise records.bad(int(negative[0]), f"the rate {rates[negative[0]]:g} is below 0")
    random = np.random.default_rng([seed, 2])
    counts = np.floor(rates * seconds + random.random(len(rates))).astype(np.int64)
    rows = np.repeat(np.arange(len(rates)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = random.random(len(rates))
    times = 1000.0 * seconds * (within + starts[rows]) / np.maximum(counts, 1)[rows]
    order = np.argsort(times, kind="stable")
    rows, times = rows[order], times[order]
    columns = {}
    for name in records.columns:
        if name.lower() not in ("advertisement", "rate"):
            columns[name] = _draw_column(records, name, rows, random)
    return rows, times, of[rows], columns


def _draw_column(records: Records, name: str, rows: Int64s, random: np.random.Generator) -> Column:
    numbers, texts = np.full(len(rows), np.nan), np.full(len(rows), None, object)
    for row, text in enumerate(records.texts(name, may_be_empty=True)):
        here = np.flatnonzero(rows == row)
        if not text:
            continue
        try:
            drawn = draw_values(parse_distribution(text), len(here), random)
        except WeftError as error:
            raise records.bad(row, f"{name}: {str(error).rstrip('.')}") from error
        for place, value in zip(here.tolist(), drawn, strict=True):
            if isinstance(value, str):
                texts[place] = value
            else:
                numbers[place] = value
    return Column(numbers, texts)
