"""The report of a run: the verdict first, pictures, tables with names, and the whole in one small file."""

import base64
import re
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright
from scipy import sparse

from routing_oracle import ring_instance
from test_report import Texts
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import undirected
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.pipeline.run import write_costs
from weft.report.community import SHOWN, communities, draw_communities, first_of_most, map_of, share_inside
from weft.report.journey import draw_journey
from weft.report.ring import FEW, draw_ring
from weft.report.run import verdict_lines, write_run_report
from weft.sim.bulk import evaluate
from weft.sim.hop import journey
from weft.trees.weave import weave
from weft.workloads.catalog import generate
from weft.workloads.publication import publications

CHROMIUM = shutil.which("chromium")
NAMES = np.array([f"broker <{number}>" for number in range(150)], object)


def run_folder(folder: Path, instance: Instance, router: str = "weave") -> Path:
    """What a run leaves before its report, made in process."""
    instance.write(folder / "instance")
    drawn, results = publications(instance, 400, 1), {}
    for name, overlay, by in (("overlay", "swico-sl", router), ("baseline", "random", "scribe")):
        made = design(instance, overlay, seed=1)
        made.with_meta(quality=link_quality(instance, made)).write(folder / name)
        if by == "weave":
            weave(instance, made).write(folder / "trees.parquet")
        results[name] = evaluate(instance, made, by, drawn, per_topic=True)
    write_costs(folder / "evaluation.json", folder / "instance", results)
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = generate("social", nodes=150, seed=1)
    folder = run_folder(tmp_path_factory.mktemp("run"), Instance(made.interest, NAMES, NAMES, made.meta))
    write_run_report(folder / "report.html", folder / "instance", folder)
    return folder / "report.html"


def test_the_verdict_comes_first_and_names_are_told(report: Path) -> None:
    text = report.read_text()
    parsed = Texts(re.sub(r"<(circle|path|use|input)[^>]*/?>", "", text))
    first = next(place for place, words in enumerate(parsed.texts) if "messages between brokers" in words)
    assert first < parsed.texts.index("One publication, hop by hop")
    assert any(words.startswith("broker <") for words in parsed.texts)
    assert "broker <1" not in text  # escaped
    assert "http" not in text.replace("http://www.w3.org", "")
    lines = verdict_lines(report.parent / "instance", report.parent)
    assert "messages between brokers" in lines[0]
    assert lines[0][0] in "+-="


def test_the_data_are_in_the_page(report: Path) -> None:
    files = dict(re.findall(r'download="(\w+\.csv)" href="data:text/csv;base64,([^"]*)"', report.read_text()))
    brokers = base64.b64decode(files["brokers.csv"]).decode().splitlines()
    assert brokers[0] == "broker,topics,connections,sends,receives,sends in the baseline"
    assert len(brokers) == 151
    sends = [int(line.split(",")[3]) for line in brokers[1:]]
    assert sends == sorted(sends, reverse=True)
    assert base64.b64decode(files["topics.csv"]).decode().startswith("topic,subscribers,hops,")


@pytest.mark.parametrize("router", ["pie", "scribe"])
def test_any_router_has_a_report(tmp_path: Path, router: str) -> None:
    folder = run_folder(tmp_path, ring_instance(1, 40, 10, 0.2), router)
    write_run_report(folder / "report.html", folder / "instance", folder)
    assert f"ours: {router} on swico-sl" in (folder / "report.html").read_text()


def test_pictures_of_large_networks_stay_small() -> None:
    instance = generate("zipf", nodes=20_000, topics=500, subscriptions=3, seed=1)
    overlay = design(instance, "random", seed=1)
    drawn_on = map_of(instance, overlay)
    for picture in (draw_communities(overlay, drawn_on), draw_ring(instance, overlay)[0]):
        assert len(picture) < 150_000
        assert picture.count("M") <= FEW + 2  # some of the links


@pytest.mark.parametrize("seed", range(20))
def test_votes_are_won_as_by_argmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 20, 2)
    votes = sparse.csr_array(rng.integers(0, 3, (rows, columns)).astype(float))
    assert np.array_equal(first_of_most(votes), np.asarray(votes.argmax(axis=1)).ravel())


def test_communities_are_those_of_the_interests() -> None:
    """Three groups of brokers that share no topic."""
    nodes = np.arange(60)
    rng = np.random.default_rng(1)
    interest = np.zeros((60, 30), bool)
    interest[nodes, (nodes % 3) * 10] = True
    interest |= (rng.random((60, 30)) < 0.4) & (np.arange(30)[None] // 10 == (nodes % 3)[:, None])
    instance = instance_from_pairs(*np.nonzero(interest), node_count=60, topic_count=30)
    found = communities(instance)
    assert 3 <= len(set(found.tolist())) < SHOWN
    assert all(len(set((nodes[found == each] % 3).tolist())) == 1 for each in found)
    drawn_on = map_of(instance, design(instance, "random", seed=1))
    x, y, radius = drawn_on.discs.T
    for one, other in combinations(range(len(radius)), 2):
        assert np.hypot(x[one] - x[other], y[one] - y[other]) > radius[one] + radius[other] - 1
    low, high = undirected(design(instance, "gm", seed=1))
    assert share_inside(design(instance, "gm", seed=1), drawn_on) == pytest.approx(np.mean(found[low] == found[high]))
    assert communities(generate("social", nodes=300, seed=1)).max() <= SHOWN


def test_a_journey_draws_every_message_at_its_hop() -> None:
    instance = ring_instance(2, 40, 5, 0.3)
    told = journey(instance, design(instance, "random", seed=1), 1, 7, router="scribe")
    picture = draw_journey(told, 9)
    assert picture.count('class="hop"') == 9
    assert picture.count("<path ") == len(told.rows())
    assert picture.count('class="message relayed"') == sum(bool(row["relay"]) for row in told.rows())
    for row, message in enumerate(told.rows()):
        x, y = map(float, re.findall(r"L([\d.]+) ([\d.]+)", picture)[row])
        assert np.hypot(x - 200, y - 200) == pytest.approx(185 * int(str(message["hop"])) / 9, abs=0.2)


@pytest.mark.skipif(CHROMIUM is None, reason="There is no chromium on the PATH: install Debian's.")
@pytest.mark.parametrize("width", [1400, 390])
def test_in_a_browser_the_publication_travels(report: Path, width: int) -> None:
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 800}, reduced_motion="reduce")
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        page.goto(report.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        messages = page.locator(".journey path[data-hop]")
        visible = "all => all.filter(each => getComputedStyle(each).visibility === 'visible').length"
        assert messages.evaluate_all(visible) == messages.count() > 0
        page.locator(".journey input").fill("0")
        assert messages.evaluate_all(visible) == 0
        assert page.locator("output").first.inner_text().startswith("Hop 0: 0 of ")
        page.locator(".journey input").fill("1")
        first = page.locator('.journey path[data-hop="1"]').count()
        assert messages.evaluate_all(visible) == first > 0
        page.get_by_role("button", name="Play").click()
        page.get_by_role("button", name="Pause").click()
        browser.close()
    assert complaints == []


def test_the_page_is_small(report: Path) -> None:
    assert report.stat().st_size < 2_000_000
