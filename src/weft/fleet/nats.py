"""A NATS cluster by the monitoring output of its servers, saved as JSON: `/routez`, `/connz?subs=1`, `/subsz?subs=1`.

What a file is shows in it. Servers send a message straight to each server that subscribes, and none passes on what came
by a route. Subjects keep their names; `*` and `>` are matched as NATS does, where `a.>` does not match `a`. Subjects
that begin with `_` or `$` are inboxes and the server's own, and are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.fleet.bridge import Bridge
from weft.model.wildcard import Find, finder

Subscription = tuple[str, str, str]  # client, server, subject


def read_json(paths: Iterable[Path], what: str) -> Iterator[tuple[Path, Any]]:
    """Documents of files, and of the *.json in folders."""
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not path.exists() or not files:
            raise WeftError(f"{path} {'has no *.json' if path.exists() else 'does not exist'}: give {what}.")
        for file in files:
            try:
                yield file, json.loads(file.read_text("utf-8-sig"))
            except ValueError as error:
                raise WeftError(f"{file} is not JSON: {error}.") from error


def read_nats(paths: Iterable[Path]) -> tuple[list[str], list[Bridge], list[Subscription]]:
    """Servers, routes and subscriptions."""
    given = list(read_json(paths, "what /routez, /connz?subs=1 and /subsz?subs=1 answer"))
    for file, answer in given:
        if not isinstance(answer, dict) or "server_id" not in answer:
            raise WeftError(f"{file} is no answer of a NATS server's monitoring: it has no server_id.")
    answers = [answer for _, answer in given]
    names = _names(answers)
    routes = {pair for answer in answers for pair in _routes(answer, names)}
    bridges = [Bridge(one, other, ()) for one, other in sorted(routes)]
    servers = sorted({*names.values(), *(end for pair in routes for end in pair)})
    return servers, bridges, sorted(_subscriptions(answers, names))


def _names(answers: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names of servers by id; the id where no name is told."""
    names: dict[str, str] = {}
    for answer in answers:
        for route in _list(answer, "routes"):
            if route.get("remote_id"):
                names[str(route["remote_id"])] = str(route.get("remote_name") or route["remote_id"])
    for answer in answers:
        if answer.get("server_name"):
            names[str(answer["server_id"])] = str(answer["server_name"])
        names.setdefault(str(answer["server_id"]), str(answer["server_id"]))
    return names


def _routes(answer: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    own = names[str(answer["server_id"])]
    for route in _list(answer, "routes"):
        other = names.get(str(route.get("remote_id")), "")
        if other and other != own:
            yield min(own, other), max(own, other)


def _subscriptions(answers: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> set[Subscription]:
    """Subscriptions by connection (connz) and by server (subsz), without those that routes hold for other servers."""
    routes = {(answer["server_id"], route.get("rid")) for answer in answers for route in _list(answer, "routes")}
    client = {
        (answer["server_id"], each.get("cid")): str(each.get("name") or f"cid-{each.get('cid')}")
        for answer in answers
        for each in _list(answer, "connections")
    }
    found = set()
    for answer in answers:
        server = answer["server_id"]
        for each in _list(answer, "connections"):
            held = [*_list(each, "subscriptions_list"), *_list(each, "subscriptions_list_detail")]
            found |= {(client[server, each.get("cid")], names[str(server)], _subject(subject)) for subject in held}
        for each in _list(answer, "subscriptions_list"):
            key = (server, each.get("cid"))
            if key not in routes:
                found.add((client.get(key, f"cid-{each.get('cid')}"), names[str(server)], _subject(each)))
    return {row for row in found if row[2] and row[2][0] not in "_$"}


def _subject(given: Any) -> str:
    return str(given.get("subject", "") if isinstance(given, dict) else given)


def _list(answer: Mapping[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else []


def is_wild_subject(subject: str) -> bool:
    return any(token in ("*", ">") for token in subject.split("."))


def subject_finder(topics: Sequence[str]) -> Find:
    """Finds the topics that a subject of NATS matches."""
    find = finder([_as_mqtt(name) for name in topics])

    def matching(subject: str) -> list[int]:
        above = subject.removesuffix(".>") if subject.endswith(".>") else None
        return [topic for topic in find(_as_mqtt(subject)) if topics[topic] != above]

    return matching


def _as_mqtt(subject: str) -> str:
    wild = {"*": "+", ">": "#"}
    plain = (token.replace("/", "\x1f").replace("+", "\x1e").replace("#", "\x1d") for token in subject.split("."))
    return "/".join(wild.get(token, token) for token in plain)
