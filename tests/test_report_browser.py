"""The reports in a real browser: Debian's Chromium, driven by Playwright."""

import base64
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.engine.experiment import Experiment, Point
from weft.experiments.engine.results import Results, figures_of
from weft.experiments.papers.beaconvey import ROUTERS
from weft.experiments.papers.nsmf import SYSTEMS
from weft.experiments.runs.input import Input, Scale, node_inputs
from weft.experiments.runs.routing import plan_at
from weft.report.experiment import write_experiment
from weft.report.reproduction import write_reproduction

CHROMIUM = shutil.which("chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
TINY = Scale(publications=50, seeds=1, steps=(20, 30))

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="There is no chromium on the PATH: install Debian's.")


def results_of(name: str) -> Results:
    """Results of a tiny version of the experiment, in process."""
    experiment: Experiment = EXPERIMENTS[name]
    if name.startswith("nsmf"):
        plan = plan_at(TINY, node_inputs, SYSTEMS, {})
    else:
        plan = plan_at(TINY, lambda *_: [(Point("FB 1K", "a <small> graph"), Input("social", 40))], ROUTERS, {})
        experiment = replace(experiment, baseline="BeaConvey(SL, Po)")
    x = {point.label: point.x for point in plan.points}
    rows = [
        {"system": system, "at": at, "x": x[at], "seed": seed, "error": None, **run.measure()}
        for (system, at, seed), run in plan.runs.items()
    ]
    return Results(experiment, "quick", plan.points, plan.seeds, plan.settings, rows)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    for name in ("nsmf-fig2", "beaconvey-table5"):
        write_experiment(results_of(name), folder / name)
    return write_reproduction(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, which may say nothing to the console and ask nobody for anything."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(report.as_uri())
    yield page
    assert complaints == []
    context.close()


def test_one_page_a_paper(page: Page) -> None:
    assert page.locator("main > section:visible").evaluate_all("all => all.map(s => s.id)") == ["summary"]
    page.get_by_role("link", name="NSMF", exact=True).first.click()
    page.locator("#nsmf").wait_for(state="visible")
    assert page.locator("main > section:visible").evaluate_all("all => all.map(s => s.id)") == ["nsmf"]
    assert page.locator("nav a[aria-current]").inner_text() == "NSMF"
    page.evaluate("location.hash = 'beaconvey-table5'")
    page.locator("#beaconvey-table5").wait_for(state="visible")
    assert page.locator("#nsmf").is_hidden()


def test_every_link_leads_somewhere(page: Page) -> None:
    targets = page.locator('a[href^="#"]').evaluate_all("all => all.map(a => a.hash.slice(1))")
    assert len(targets) > 4
    ids = set(page.locator("[id]").evaluate_all("all => all.map(e => e.id)"))
    assert set(targets) <= ids


def test_all_panels_are_there_and_tell_their_values(page: Page) -> None:
    for name in ("nsmf-fig2", "beaconvey-table5"):
        page.evaluate(f"location.hash = '{name}'")
        article = page.locator(f"article#{name}")
        article.wait_for(state="visible")
        assert article.locator("figure svg:visible").count() == len(EXPERIMENTS[name].panels)
    expected = figures_of(results_of("nsmf-fig2"))["average path", "Chord", "V=20"]
    tip = f"Chord, V=20: {expected:.3f}"
    page.evaluate("location.hash = 'nsmf-fig2'")
    page.locator(f'#nsmf-fig2 use[data-tip="{tip}"]').hover(force=True)
    page.locator("#tip").wait_for(state="visible")
    assert page.locator("#tip").inner_text() == tip
    page.locator("h1").hover()
    page.locator("#tip").wait_for(state="hidden")


def test_the_data_behind_a_figure_is_in_the_page(page: Page) -> None:
    page.evaluate("location.hash = 'nsmf-fig2'")
    link = page.locator('a[download="nsmf-fig2.csv"]')
    text = base64.b64decode((link.get_attribute("href") or "").partition("base64,")[2]).decode()
    lines = text.splitlines()
    assert lines[0] == "metric,system,at,x,ours,paper"
    figures = figures_of(results_of("nsmf-fig2"))
    assert len(lines) == 1 + len(figures)
    assert f"average path,GrSwico,V=20,20,{figures['average path', 'GrSwico', 'V=20']}," in lines


def test_publications_are_drawn_on_the_ring(page: Page) -> None:
    pictures = page.locator("#summary figure")
    assert pictures.count() >= 2
    for number in range(pictures.count()):
        picture = pictures.nth(number)
        told = [int(word) for word in picture.locator("figcaption").inner_text().split() if word.isdigit()]
        assert picture.locator(".message").count() == told[1]
        assert picture.locator(".relayed").count() == told[2]
        assert picture.locator(".issuer").count() == 1


@pytest.mark.parametrize("width", [360, 800])
def test_nothing_sticks_out_on_a_phone(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    for name in ("summary", "nsmf", "beaconvey"):
        page.evaluate(f"location.hash = '{name}'")
        page.locator(f"#{name}").wait_for(state="visible")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_is_dark(page: Page) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert light == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 29)"


def test_paper_shows_everything(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("main > section:visible").count() == 3
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("nav").is_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main > section:visible").count() == 1
