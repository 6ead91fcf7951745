"""The papers as text: what each is, what it states of its experiments, and what a reader in a hurry should know."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).parents[1] / "papers"
ABOUT = "paper"  # the part of a file that is about the paper as a whole


@dataclass(frozen=True)
class Headline:
    """A sentence with our figure in it, as {ours}, the paper's, as {paper}, and what data it is of, as {data}."""

    experiment: str
    metric: str
    system: str
    at: str
    sentence: str
    paper: float | None = None


@dataclass(frozen=True)
class Paper:
    key: str
    name: str
    about: str
    headlines: tuple[Headline, ...]


@cache
def statements_of(paper: str) -> Mapping[str, Any]:
    """What papers/*.toml holds, by the name of the experiment, and under ABOUT."""
    return tomllib.loads((PAPERS / f"{paper}.toml").read_text())


def papers() -> list[Paper]:
    return [_paper(path.stem) for path in sorted(PAPERS.glob("*.toml"))]


def _paper(key: str) -> Paper:
    about = statements_of(key)[ABOUT]
    headlines = tuple(Headline(**headline) for headline in about.get("headlines", []))
    return Paper(key, about["name"], about["about"].strip(), headlines)
