"""A browser as a client: MQTT.js over WebSockets, in Debian's Chromium, driven by Playwright."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from live_node import node

CHROMIUM = shutil.which("chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="There is no chromium on the PATH: install Debian's.")

TALK = """async ([port, version]) => {
    const client = await mqtt.connectAsync(`ws://127.0.0.1:${port}/mqtt`, {protocolVersion: version})
    const heard = []
    const all = new Promise(done => client.on("message", (topic, payload, packet) => {
        heard.push([topic, payload.toString(), packet.qos])
        if (heard.length === 3) done()
    }))
    await client.subscribeAsync("browser/#", {qos: 2})
    for (const qos of [0, 1, 2]) await client.publishAsync(`browser/${qos}`, "ä".repeat(100), {qos})
    await all
    await client.endAsync()
    return heard
}"""

OPEN = """port => new Promise(done => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mqtt`, "mqtt")
    socket.onopen = () => done("open")
    socket.onerror = () => done("refused")
})"""


@pytest.fixture(scope="module")
def mqtt_js(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as one file, from npm."""
    folder = tmp_path_factory.mktemp("npm")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("There is no npm on the PATH.")
    packed = subprocess.run([npm, "pack", "mqtt@5"], cwd=folder, capture_output=True, timeout=120)
    if packed.returncode:
        pytest.skip("npm could not fetch MQTT.js.")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extract("package/dist/mqtt.min.js", folder, filter="data")
    return folder / "package/dist/mqtt.min.js"


@pytest.mark.parametrize("version", [4, 5])
def test_a_browser_publishes_and_subscribes(mqtt_js: Path, version: int) -> None:
    with node("--listen", "ws://127.0.0.1:0", "--websocket-origin", "null") as one:
        heard = said(TALK, [one.port_of(2), version], mqtt_js)
    assert heard == [[f"browser/{qos}", "ä" * 100, qos] for qos in (0, 1, 2)]


def test_a_page_that_is_not_named_is_refused() -> None:
    with node("--listen", "ws://127.0.0.1:0") as one:
        assert said(OPEN, one.port_of(2)) == "refused"
    with node("--listen", "ws://127.0.0.1:0", "--websocket-origin", "null") as one:
        assert said(OPEN, one.port_of(2)) == "open"


def said(script: str, argument: object, library: Path | None = None) -> object:
    """What a script comes to on a page that is no site's: its origin is "null"."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page()
        if library is not None:
            page.add_script_tag(path=library)
        try:
            return page.evaluate(script, argument)
        finally:
            browser.close()
