"""Names from outside, in all that commands print: nothing of them moves a terminal, nothing is a line of its own."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from weft import cli
from weft.cli.line import visible
from weft.live import operator
from weft.model.instance import instance_from_pairs

COMMANDS = Path(cli.__file__).parent
FORGED = "node-0  [all is well]"
NASTY = f"\x1b]0;pwned\x07news\r\x9b2J\u202e\n  {FORGED}"


def require_plain(told: str) -> None:
    """What reached the terminal: lines of what can be seen, and none that a name has made."""
    assert [line for line in told.split("\n") if not line.isprintable()] == []
    assert [line for line in told.split("\n") if line.strip() == FORGED] == []


def run(*words: str) -> str:
    done = CliRunner().invoke(cli.app, [*words])
    assert done.exit_code == 0, done.output
    require_plain(done.output)
    return done.stdout


def test_what_cannot_be_seen_is_written_as_escapes() -> None:
    assert visible("a\x1b[2J\n\u202eb\ud800") == "a\\x1b[2J\\n\\u202eb\\ud800"
    for plain in ("", "home/+/door", "Zürich  温度", "└─ x"):
        assert visible(plain) == plain


# What a master tells, each text of it a client's or another's


NODE = {
    "name": NASTY,
    "state": NASTY,
    "links": 1,
    "links_wanted": 1,
    "filters": 1,
    "clients": 1,
    "publications_a_second": 1.0,
    "mqtt": [NASTY],
}
FORECAST = {
    "links_to_open": 1,
    "links_to_close": 1,
    "links": 1,
    "relays_a_delivery": {"now": 1.0, "then": 1.0},
    "hops": {"now": 1.0, "then": 1.0},
    "busiest_node": {"now": 1.0, "then": 1.0},
    "applied": True,
    "proposal": NASTY,
}
FIGURES = ("links", "links_up", "links_bound", "links_over_bound", "clients", "sessions", "topics")
ANSWERS: dict[str, Any] = {
    "status": {
        **dict.fromkeys(FIGURES, 1),
        **dict.fromkeys(cli.status.SHOWN[len(FIGURES) + 1 :], NASTY),
        "cluster": NASTY,
        "nodes": [NODE],
        "problems": [NASTY, f"{NASTY} is down"],
    },
    "explain": {
        "topic": NASTY,
        "trees": [
            {
                "filter": NASTY,
                "subscribers": 1,
                "relays": 0,
                "parted": True,
                "root": "x",
                "members": [{"node": NASTY, "hops": 1, "relay": False}],
            }
        ],
        "shared": [{"filter": f"$share/{NASTY}/a", "nodes": [NASTY]}],
    },
    "trace": {
        "topic": NASTY,
        "steps": [{"node": NASTY, "from": NASTY, "hops": 1, "milliseconds": 1.0, "clients": 1}],
        "nodes_with_receivers": 0,
    },
    "redesign": FORECAST,
    "leave": {"node": NASTY, "forgotten": [NASTY], "filters_owed": {NASTY: NASTY}},
    "snapshot": {
        "nodes": [NASTY, "b"],
        "topics": [NASTY, "t"],
        "interest": [[0], [0]],
        "round_trips": None,
        "publishers": None,
    },
}
ASKING: list[tuple[str, list[str]]] = [
    ("status", []),
    ("explain", [NASTY]),
    ("trace", [NASTY, NASTY]),
    ("redesign", ["--yes"]),
    ("leave", [NASTY]),
    ("snapshot", ["--out", "{folder}/live"]),
]


@pytest.mark.parametrize(("command", "words"), ASKING, ids=[name for name, _ in ASKING])
def test_what_a_master_tells_is_shown_as_it_is(
    command: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "ask", lambda _, request, *__, **___: ANSWERS[request])
    words = [word.replace("{folder}", str(tmp_path)) for word in words]
    if command != "snapshot":
        assert ("pwned" in run(command, *words)) or command == "redesign"
    else:
        run(command, *words)
    if command != "snapshot":
        assert json.loads(run(command, *words, "--json"))


def test_every_command_that_asks_a_master_is_tried() -> None:
    asking = {path.stem for path in COMMANDS.glob("*.py") if "MasterAddress" in path.read_text()}
    assert asking - {"operator"} == {name for name, _ in ASKING} | {"apply"}  # which prints what redesign prints


def test_what_a_master_refuses_with_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def refused(*_: object, **__: object) -> None:
        raise operator.WeftError(f"There is no node {NASTY}.")

    monkeypatch.setattr(operator, "ask", refused)
    monkeypatch.setattr("sys.argv", ["weft", "status"])
    monkeypatch.setattr(cli.ending, "watch", lambda: None)
    with pytest.raises(SystemExit):
        cli.main()
    told = capsys.readouterr().err
    assert "pwned" in told
    require_plain(told)


# What files have


@pytest.fixture
def named(tmp_path: Path) -> tuple[str, str]:
    """An instance with such names, and an overlay for it."""
    names = np.array([NASTY, *(f"{n}{NASTY}" for n in range(5))], object)
    pairs = [(node, topic) for node in range(6) for topic in range(3)]
    nodes, topics = zip(*pairs, strict=True)
    made = instance_from_pairs(nodes, topics, node_names=names, topic_names=names[:3].copy(), source=NASTY)
    folder, overlay = tmp_path / "instance", tmp_path / "overlay"
    made.write(folder)
    run("design", str(folder), "--overlay", "swico-sl", "--out", str(overlay))
    return str(folder), str(overlay)


READING: list[Callable[[str, str], list[str]]] = [
    lambda instance, _: ["inspect", instance],
    lambda instance, overlay: ["inspect", overlay, "--instance", instance],
    lambda instance, overlay: ["tree", instance, overlay, NASTY],
    lambda instance, overlay: ["evaluate", instance, overlay, "--router", "weave"],
]


@pytest.mark.parametrize("words", READING, ids=["inspect", "inspect overlay", "tree", "evaluate"])
def test_what_files_have_is_shown_as_it_is(named: tuple[str, str], words: Callable[[str, str], list[str]]) -> None:
    run(*words(*named))


# All else goes the same way


def test_commands_print_by_one_function_alone() -> None:
    """Exceptions are two lines that change on a terminal, which have figures only, and rich's bars."""
    printing = ("typer.echo", "typer.secho", "print", "rprint")
    found = {
        (path.name, any(keyword.arg == "nl" for keyword in call.keywords))
        for path in COMMANDS.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in printing
    }
    assert found == {("line.py", False), ("bench.py", True), ("chaos.py", True)}


def test_lines_are_said_one_by_one() -> None:
    """A line's end in what is said would be shown as an escape."""
    for path in sorted(COMMANDS.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "say":
                assert not re.search(r"\\n", ast.unparse(call)), (path.name, ast.unparse(call))
