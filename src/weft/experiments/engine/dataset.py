"""The data that experiments use where their files are given: social graphs to sample, and measured latencies.
And crawls, graphs of millions that are generated, once, and sampled as the papers sampled theirs, on Spark.

BeaConvey's own graphs (Facebook with 3 million users, Twitter with 41.7 million) are not to be had; SNAP's ego networks
are of the same sites, gathered around a few users each. Nor do we have the King latencies that Vitis and PopSub used;
who repeats this may, so that they are taken before PlanetLab's where they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.raw.source import Kind, Source


@dataclass(frozen=True)
class Graph:
    name: str
    file: str  # of SNAP, as it is or gunzipped
    kind: Kind
    nodes: int

    @property
    def files(self) -> tuple[str, ...]:
        return (self.file,)


@dataclass(frozen=True)
class Latencies:
    name: str
    files: tuple[str, ...]  # what it may be called; the first of them is asked for


@dataclass(frozen=True)
class Crawl:
    like: str  # of weft.workloads.social
    nodes: int


@dataclass(frozen=True)
class CrawlSample:
    crawl: Crawl
    nodes: int  # found breadth-first; as many as the crawl has: all of it
    seed: int

    def path(self, crawls: str | Path) -> Path:
        """Where the instance is, in the folder of all crawls."""
        folder = Path(crawls) / f"{self.crawl.like}-{self.crawl.nodes}"
        if self.nodes == self.crawl.nodes:
            return folder / "all" / "instance"
        return folder / f"{self.nodes}-{self.seed}" / "sample"


CRAWLS = "crawls"  # what the folder of all crawls is called among those of the datasets
DATASETS = {
    "facebook": Graph("ego-Facebook", "facebook_combined.txt.gz", "edges", 4_039),
    "twitter": Graph("ego-Twitter", "twitter_combined.txt.gz", "follows", 81_306),
    "wiki-vote": Graph("wiki-Vote", "wiki-Vote.txt.gz", "follows", 7_115),
}
LATENCIES = {
    "king": Latencies("King", ("king.matrix.gz", "king.txt.gz", "king.gz", "KingMatrix.data.gz")),
    "planetlab": Latencies("PlanetLab, 490 hosts", ("planetlab-490.txt.gz",)),
    "wonderproxy": Latencies("WonderProxy, 222 hosts", ("wonderproxy-222.ping.bin",)),
    "oversim": Latencies("OverSim, 15,000 hosts in a plane", ("oversim-nodes_2d_15000.xml.gz",)),
}
USUAL_LATENCIES = ("king", "planetlab", "wonderproxy")  # the first that is there
GENERATED_HOSTS = 490  # as many as PlanetLab's, where no file of latencies is there


def find(data: Path, dataset: Graph | Latencies) -> Path | None:
    """The data set's file in the folder, or in a folder there."""
    names = dict.fromkeys(name for file in dataset.files for name in (file, file.removesuffix(".gz")))
    places = (path for name in names for path in (data / name, *sorted(data.glob(f"*/{name}"))))
    return next((path for path in places if path.is_file()), None)


def source(graph: Graph, path: Path) -> Source:
    return Source((str(path),), graph.kind, format="edges")


def usual_latencies(folders: Mapping[str, str]) -> str | None:
    """The key in LATENCIES of the measured latencies that an experiment takes; none where no file is there."""
    return next((key for key in USUAL_LATENCIES if key in folders), None)


def usual_hosts(folders: Mapping[str, str]) -> str | None:
    """The file of the usual latencies."""
    key = usual_latencies(folders)
    return None if key is None else folders[key]
