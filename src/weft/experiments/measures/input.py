"""The instance that an input describes."""

from functools import lru_cache

from weft.experiments.engine.dataset import Crawl, CrawlSample
from weft.experiments.runs.input import CRAWL, SAMPLE, Input
from weft.model.instance import Instance, read_instance
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling, sample


@lru_cache(maxsize=1)
def instance_of(given: Input, seed: int) -> Instance:
    if given.workload == CRAWL and given.like and given.whole and given.folder is not None:
        made = CrawlSample(Crawl(given.like, given.whole), given.nodes, seed)
        return read_instance(made.path(given.folder))
    if given.workload == SAMPLE and given.folder is not None:
        return sample(_read(given.folder), Sampling(given.nodes, "bfs", seed))
    return generate(given.workload, nodes=given.nodes, topics=given.topics, like=given.like, seed=seed)


@lru_cache(maxsize=1)
def _read(folder: str) -> Instance:
    return read_instance(folder)
