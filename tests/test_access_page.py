"""Pages of others: what a browser says of them, and what becomes of it."""

import pytest

from weft.access.page import Pages

NEAR = Pages("127.0.0.1")
FAR = Pages("0.0.0.0", ("weft.example",), ("https://app.example",))
JSON = "application/json"


@pytest.mark.parametrize(
    "host", [None, "localhost", "LOCALHOST:9001", "127.0.0.1:9001", "127.0.0.2", "[::1]:9001", "::1"]
)
def test_a_port_of_the_loopback_is_called_by_names_of_the_loopback(host: str | None) -> None:
    assert NEAR.refusal("GET", host, None, "") == ""


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:9001",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.1",
            "",
            ":1",
        ),
        *("", ":1", "localhost, evil.example", "localhost@evil.example", "[evil.example]:1", "0x7f.1"),
    ],
)
def test_a_name_that_is_none_of_ours_is_refused(host: str) -> None:
    assert (
        NEAR.refusal("GET", host, None, "") == f"{host!r} is no name of this host: its option http-host gives it more."
    )
    assert NEAR.refusal("POST", host, f"http://{host}", JSON) != ""


def test_a_port_for_others_is_called_by_addresses_and_by_names_that_were_given() -> None:
    for host in ("192.0.2.1:9001", "[2001:db8::1]:9001", "weft.example:9001", "WEFT.example", "localhost"):
        assert FAR.refusal("GET", host, None, "") == ""
    told = FAR.refusal("GET", "other.example:9001", None, "")
    assert told == "'other.example:9001' is no name of this host: its option http-host gives it more."
    assert Pages("weft.example").refusal("GET", "weft.example:1", None, "") == ""


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "", "http://["]
)
def test_a_page_of_another_host_or_port_is_refused(origin: str) -> None:
    assert NEAR.refusal("GET", "127.0.0.1:9001", origin, "") == f"The page of {origin!r} is a stranger here."


def test_a_page_of_ours_is_not() -> None:
    assert NEAR.refusal("POST", "127.0.0.1:9001", "http://127.0.0.1:9001", JSON) == ""


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_page_may_send_unasked_is_not_taken(kind: str) -> None:
    assert NEAR.refusal("POST", "localhost", None, kind) == "A POST needs Content-Type: application/json."


@pytest.mark.parametrize("kind", [JSON, "Application/JSON; charset=utf-8"])
def test_json_is_taken(kind: str) -> None:
    assert NEAR.refusal("POST", "localhost", None, kind) == ""


def test_websockets_are_for_programs_and_for_pages_that_were_named() -> None:
    assert NEAR.websocket_refusal("any.example", None) == ""  # no browser
    assert NEAR.websocket_refusal("127.0.0.1:8080", "http://127.0.0.1:8080") == ""
    assert NEAR.websocket_refusal("127.0.0.1:8080", "https://evil.example") != ""
    assert NEAR.websocket_refusal("evil.example:8080", "http://evil.example:8080") != ""  # rebound
    assert FAR.websocket_refusal("192.0.2.1:8080", "https://APP.example") == ""
    assert FAR.websocket_refusal("192.0.2.1:8080", "https://app.example.evil.example") != ""
    assert Pages(origins=("*",)).websocket_refusal("192.0.2.1", "https://anybody.example") == ""
