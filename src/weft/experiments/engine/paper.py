"""The papers as text: what each is, what it states of its experiments, and what a reader in a hurry should know."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).parents[1] / "papers"
ABOUT = "paper"  # the part of a file that is about the paper as a whole


@dataclass(frozen=True)
class Headline:
    """A sentence with our figure in it, as {ours}, the paper's, as {paper}, and what data it is of, as {data}.

    The figure is that of a system, or the share that the first of two has in what the second gains.
    """

    experiment: str
    metric: str
    at: str
    sentence: str
    system: str = ""
    share: tuple[str, ...] = ()
    paper: float | None = None


@dataclass(frozen=True)
class Words:
    """A reading of the paper, and the words for and against it, which were written down before the run."""

    name: str
    words: str
    shown: bool = True  # beside each claim; every reading is in the score


@dataclass(frozen=True)
class Landmark:
    """A figure that shows how far readings are apart, beside the paper's and one measured apart from this project."""

    what: str
    experiment: str
    metric: str
    system: str
    at: str
    paper: str
    independent: str = "-"  # by a simulator that shares nothing with this one, by the reading as printed


@dataclass(frozen=True)
class Section:
    """A section, with the number of its sentences that say what grows, falls, stays or is larger, and by how much."""

    section: str
    sentences: int
    why: str = ""  # some are not judged


@dataclass(frozen=True)
class Paper:
    key: str
    name: str
    about: str
    headlines: tuple[Headline, ...]
    believe: str = ""  # in a sentence
    readings: tuple[Words, ...] = field(default=())  # that stands first which the words favour
    sections: tuple[Section, ...] = field(default=())
    landmarks: tuple[Landmark, ...] = field(default=())


@cache
def statements_of(paper: str) -> Mapping[str, Any]:
    """What papers/*.toml holds, by the name of the experiment, and under ABOUT."""
    return tomllib.loads((PAPERS / f"{paper}.toml").read_text())


def papers() -> list[Paper]:
    return [_paper(path.stem) for path in sorted(PAPERS.glob("*.toml"))]


def _paper(key: str) -> Paper:
    about = statements_of(key)[ABOUT]
    return Paper(
        key,
        about["name"],
        about["about"].strip(),
        tuple(_headline(each) for each in about.get("headlines", [])),
        " ".join(about.get("believe", "").split()),
        tuple(Words(**each) for each in about.get("readings", [])),
        tuple(Section(**each) for each in about.get("sections", [])),
        tuple(Landmark(**each) for each in about.get("landmarks", [])),
    )


def _headline(given: Mapping[str, Any]) -> Headline:
    return Headline(**{**given, "share": tuple(given.get("share", ()))})
