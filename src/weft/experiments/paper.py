"""The papers: what each is, and what of it a reader in a hurry should know. They stand in papers/*.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).parent / "papers"
ABOUT = "paper"  # the part of a file that is about the paper as a whole


@dataclass(frozen=True)
class Headline:
    """A sentence with our figure in it, as {ours}, and the paper's, as {paper}."""

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
def told_in(paper: str) -> Mapping[str, Any]:
    """By experiment."""
    return tomllib.loads((PAPERS / f"{paper}.toml").read_text())


def papers() -> list[Paper]:
    return [_paper(path.stem) for path in sorted(PAPERS.glob("*.toml"))]


def _paper(key: str) -> Paper:
    told = told_in(key)[ABOUT]
    headlines = tuple(Headline(**headline) for headline in told.get("headlines", []))
    return Paper(key, told["name"], told["about"].strip(), headlines)
