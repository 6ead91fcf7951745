"""The social graphs that experiments take samples of, where their files are given.

BeaConvey's own graphs (Facebook with 3 million users, Twitter with 41.7 million) are not to be had; SNAP's ego networks
are of the same sites, gathered around a few users each.
"""

from dataclasses import dataclass
from pathlib import Path

from weft.pipeline.source import Kind, Source


@dataclass(frozen=True)
class Dataset:
    name: str
    file: str  # of SNAP, as it is or gunzipped
    kind: Kind
    nodes: int

    def source(self, data: Path) -> Source | None:
        paths = (data / self.file, data / self.file.removesuffix(".gz"))
        return next((Source((str(path),), self.kind, format="edges") for path in paths if path.is_file()), None)


DATASETS = {
    "facebook": Dataset("ego-Facebook", "facebook_combined.txt.gz", "edges", 4_039),
    "twitter": Dataset("ego-Twitter", "twitter_combined.txt.gz", "follows", 81_306),
}
