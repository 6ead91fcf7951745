"""The stages of a run: an instance from raw or generated data, a sample of it, and what is made of that."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import read_instance, read_instance_meta, read_name
from weft.model.latency import read_latency
from weft.model.storage import kept_beside, new_path, scratch_folder, write_columns
from weft.model.tree import FILE as TREES
from weft.overlays.catalog import WITHOUT_RING, options_of
from weft.overlays.quality import link_quality
from weft.pipeline.design import design
from weft.pipeline.evaluate import evaluate, laid_out
from weft.pipeline.generate import generate
from weft.pipeline.ingest import ingest
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.sample import sample
from weft.pipeline.stages import Stage
from weft.pipeline.weave import weave_to
from weft.raw.source import Source
from weft.sim.catalog import require_options, routing, without_ring
from weft.sim.evaluation import Evaluation, figures_of
from weft.trees.load import LOAD_WEIGHT, require_load_weight
from weft.trees.weave import FAN_OUT
from weft.workloads.publication import publications
from weft.workloads.sample import Sampling

# What the overlay is compared with: rendezvous routing on random fingers, the papers' Scribe(-).
BASELINE_OVERLAY, BASELINE_ROUTER = "random", "scribe"

LOADS, TOPICS = "loads.parquet", "topics.parquet"

Session = Callable[[], SparkSession]  # starts Spark when it is first called: a finished run does without


def _nothing() -> None:
    """What there is to do or say before a stage, mostly."""


@dataclass(frozen=True)
class Generated:
    """An instance to make, where there is no data to read."""

    workload: str
    nodes: int
    seed: int


@dataclass(frozen=True)
class Proof:
    """What to design for the instance, and how to show what it costs."""

    overlay: str
    router: str  # one that goes by the ring needs an overlay that has one
    publications: int  # from 1
    seed: int
    fan_out: int | None = None  # of trees, if the router has them
    latency: str | None = None  # a file: the overlay goes by it, where its algorithm can, and so does the router
    load_weight: float | None = None  # of trees, as the fan-out
    rates: str | None = None  # of trees: a file of how often topics are published on
    draw_hosts: bool = False  # the seed places nodes on the hosts of the latencies, whatever their names
    forwarding: Forwarding = AS_PRINTED  # of a router on the ring, and of the baseline's

    def check(self) -> None:
        require_options(self.router, self.fan_out)
        if self.load_weight is not None:
            require_load_weight(self.load_weight)
        if not routing(self.router).has_trees and (self.load_weight is not None or self.rates is not None):
            raise WeftError(f"{self.router} has no trees whose load is to be shared: leave out its weight and rates.")
        if self.rates is not None and not Path(self.rates).exists():
            raise WeftError(f"{self.rates} does not exist.")
        if self.publications < 1:
            raise WeftError(
                f"`publications` {self.publications} is out of range: give a number from 1.", "publications"
            )
        if self.overlay in WITHOUT_RING and routing(self.router).needs_ring:
            raise WeftError(
                f"{self.router} goes by a ring, which {self.overlay} does not have: "
                f"choose `router` {without_ring()}, or an overlay with a ring, such as swico-sl.",
                "router",
            )
        if self.latency is not None:
            read_latency(self.latency)


def instance_stages(
    session: Session,
    given: Source | Generated | Path,
    sampling: Sampling | None,
    folder: Path,
    progress: Progress = SILENCE,
) -> tuple[list[Stage], Path]:
    """The stages up to the instance that is designed for, and where it will be. A path is an instance as it is."""
    stages: list[Stage] = []
    instance = folder / "instance"
    if isinstance(given, Source):
        stages.append(_ingest_stage(session, given, progress))
    elif isinstance(given, Generated):
        stages.append(_generate_stage(session, given, progress))
    else:
        stages.append(_given_stage(given))
        instance = given
        if sampling is not None:
            sampling.check(read_instance_meta(given))
    if sampling is not None:
        stages.append(_sample_stage(session, instance, sampling, progress))
        instance = folder / "sample"
    return stages, instance


def proof_stages(
    session: Session,
    instance: Path,
    proof: Proof,
    folder: Path,
    progress: Progress = SILENCE,
    before: Callable[[], None] = _nothing,
) -> list[Stage]:
    """The overlay, the baseline to compare it with, trees if the router has them, and what publications cost.

    `before` is called when the overlay is about to be designed, and the instance is there.
    """
    return [
        _design_stage(session, instance, proof.overlay, proof, "overlay", progress, before),
        _design_stage(session, instance, BASELINE_OVERLAY, proof, "baseline", progress),
        *([_weave_stage(session, instance, proof, folder, progress)] if routing(proof.router).has_trees else []),
        _evaluate_stage(session, instance, proof, folder, progress),
    ]


def _design_stage(
    session: Session,
    instance: Path,
    name: str,
    proof: Proof,
    output: str,
    progress: Progress,
    before: Callable[[], None] = _nothing,
) -> Stage:
    seed, latency = proof.seed, proof.latency if "latency" in options_of(name) else None

    def work(out: Path) -> dict[str, Any]:
        before()
        with scratch_folder(out) as scratch:
            about: dict[str, Any] = {"seed": seed, "kept": kept_beside(out), "latency": latency}
            about["draw_hosts"] = proof.draw_hosts
            overlay = design(session(), instance, name, scratch, progress=progress, **about)
        names = None
        if "quality" not in overlay.meta:
            given = read_instance(instance)
            overlay = overlay.with_meta(quality=link_quality(given, overlay), instance=given.fingerprint)
            names = given.node_names
        overlay.write(out, force=True, names=names)
        return {"algorithm": name, "links": overlay.links, **overlay.meta["quality"]}

    options = {"overlay": name, "seed": seed, "latency": latency and _files(latency), "draw_hosts": proof.draw_hosts}
    return Stage("design" if output == "overlay" else output, output, options, work)


def _weave_stage(session: Session, instance: Path, proof: Proof, folder: Path, progress: Progress) -> Stage:
    fan_out = FAN_OUT if proof.fan_out is None else proof.fan_out
    load_weight = LOAD_WEIGHT if proof.load_weight is None else proof.load_weight

    def work(out: Path) -> dict[str, Any]:
        return weave_to(
            session(),
            instance,
            folder / "overlay",
            out,
            kept_beside(out),
            force=True,
            fan_out=fan_out,
            load_weight=load_weight,
            rates=proof.rates,
            latency=proof.latency,
            seed=proof.seed,
            draw_hosts=proof.draw_hosts,
            progress=progress,
        )

    options = {
        "fan_out": fan_out,
        "load_weight": load_weight,
        "rates": proof.rates and _files(proof.rates),
        "seed": proof.seed,
        "latency": proof.latency and _files(proof.latency),
        "draw_hosts": proof.draw_hosts,
    }
    return Stage("weave", TREES, options, work)


def _evaluate_stage(session: Session, instance: Path, proof: Proof, folder: Path, progress: Progress) -> Stage:
    def work(out: Path) -> dict[str, Any]:
        results = {}
        with laid_out(session(), instance, out, progress) as given:
            drawn = publications(given.instance, proof.publications, proof.seed)
            for name, router in (("overlay", proof.router), ("baseline", BASELINE_ROUTER)):
                trees = folder / TREES if routing(router).has_trees else None
                options: dict[str, Any] = {"seed": proof.seed, "latency": proof.latency, "trees": trees}
                options |= {"draw_hosts": proof.draw_hosts, "forwarding": proof.forwarding}
                results[name] = evaluate(
                    given, folder / name, router, drawn, **options, per_topic=True, progress=progress
                )
        costs = write_costs(out, instance, results)
        shown = ("deliveries", "messages", "routing_overhead", "average_path")
        return {f"{name}_{key}".removeprefix("overlay_"): costs[name][key] for name in costs for key in shown}

    files = {name: file and _files(file) for name, file in (("latency", proof.latency), ("rates", proof.rates))}
    options = {**asdict(proof), **files, "beside": [LOADS, TOPICS]}
    return Stage("evaluate", "evaluation.json", options, work)


def write_costs(out: Path, instance: Path, results: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Write the figures of both systems, and beside them those of every node and of every topic."""
    busiest = {name: read_name(instance, "node", result.load.most_loaded_node) for name, result in results.items()}
    costs = {name: figures_of(result, busiest[name]) for name, result in results.items()}
    loads = {f"{name}_{kind}": load for name, result in results.items() for kind, load in result.load_by_node.items()}
    topics = {
        f"{name}_{figure}": column
        for name, result in results.items()
        for figure, column in (result.topics or {}).items()
    }
    with new_path(out.with_name(LOADS), force=True) as partial:
        write_columns(partial, loads)
    with new_path(out.with_name(TOPICS), force=True) as partial:
        write_columns(partial, topics)
    with new_path(out, force=True) as partial:
        partial.write_text(json.dumps(costs, indent=2) + "\n")
    return costs


def _given_stage(instance: Path) -> Stage:
    """A stage without work, on whose options the stages after it depend."""
    meta = read_instance_meta(instance)
    changed = (instance / "meta.json").stat().st_mtime_ns
    return Stage("instance", str(instance.absolute()), {"meta": meta, "changed": changed}, lambda _: meta)


def _ingest_stage(session: Session, source: Source, progress: Progress) -> Stage:
    def work(out: Path) -> dict[str, Any]:
        return asdict(ingest(session(), source, out, force=True, progress=progress))

    return Stage(
        "ingest",
        "instance",
        {**asdict(source), "files": _files(*source.paths, *([source.topics] if source.topics else []))},
        work,
    )


def _generate_stage(session: Session, given: Generated, progress: Progress) -> Stage:
    def work(out: Path) -> dict[str, Any]:
        options = {"nodes": given.nodes, "seed": given.seed}
        return generate(session(), given.workload, out, force=True, progress=progress, **options)

    return Stage("generate", "instance", asdict(given), work)


def _sample_stage(session: Session, instance: Path, sampling: Sampling, progress: Progress) -> Stage:
    def work(out: Path) -> dict[str, Any]:
        return asdict(sample(session(), instance, sampling, out, force=True, progress=progress))

    return Stage("sample", "sample", asdict(sampling), work)


def _files(*names: str) -> list[tuple[str, int, int]]:
    """Names, sizes and times of files, and of those in folders, so that changed data is read again."""
    found = (sorted(path.rglob("*")) if path.is_dir() else [path] for path in map(Path, names))
    files = [file for paths in found for file in paths if file.is_file()]
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
