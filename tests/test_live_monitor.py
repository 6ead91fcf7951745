"""The HTTP port of a node, as Prometheus and those who restart nodes use it."""

import re
import socket
from dataclasses import fields

import pytest

from exposition import read_exposition
from live_node import Paho, node, until
from ports import free_port
from weft.broker.figure import Figures


def answer(port: int, *pieces: bytes) -> tuple[str, dict[str, str], str]:
    """Status, headers and body of the answer to a request that is sent in pieces."""
    with socket.create_connection(("127.0.0.1", port)) as one:
        for piece in pieces:
            one.sendall(piece)
        told = b"".join(iter(lambda: one.recv(65536), b""))
    head, _, body = told.decode().partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines), body


def test_metrics_are_what_prometheus_reads() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}") as one, Paho(one.port) as client:
        client.subscribe("t")
        client.publish("t", "four", 1)
        until(lambda: len(client.heard) == 1, "delivery")
        status, headers, body = answer(port, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n")
        assert status == "HTTP/1.1 200 OK"
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert int(headers["Content-Length"]) == len(body)
        metrics = read_exposition(body)
        client.publish("t", "four", 1)
        later = read_exposition(answer(port, b"GET /metrics HTTP/1.1\r\n\r\n")[2])
    assert metrics["weft_publications_received_total"].samples == {"": 1.0}
    assert metrics["weft_publication_bytes_received_total"].samples == {"": 4.0}
    assert metrics["weft_subscriptions"].samples == {"": 1.0}
    assert metrics["weft_connected"].samples == {"": 1.0}
    assert later.keys() == metrics.keys()
    counters = [name for name, family in metrics.items() if family.kind == "counter"]
    assert all(later[name].samples[""] >= metrics[name].samples[""] for name in counters)
    assert later["weft_publications_received_total"].samples == {"": 2.0}


def test_all_that_a_node_counts_is_in_its_metrics() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}"):
        metrics = read_exposition(answer(port, b"GET /metrics HTTP/1.1\r\n\r\n")[2])
    told = {re.sub(r"^weft_|_total$", "", name) for name in metrics}
    assert {one.name for one in fields(Figures)} <= told


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /health HTTP/1.1\r\n\r\n", "200 OK"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
        (b"GET /metrics?name[]=x HTTP/1.0\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405 Method Not Allowed"),
        (b"\x10\x0c\x00\x04MQTT\r\n\r\n", "405 Method Not Allowed"),
    ],
)
def test_requests_are_answered_and_the_connection_is_closed(request_: bytes, status: str) -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}"):
        told, headers, body = answer(port, request_)
        assert told == f"HTTP/1.1 {status}"
        assert headers["Connection"] == "close"
        assert (body == "") == request_.startswith(b"HEAD")
        assert answer(port, *(request_[at : at + 1] for at in range(len(request_))))[0] == told


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ("Host: evil.example", "'evil.example' is no name of this host: its option http-host gives it more."),
        ("Host: localhost\r\nOrigin: https://evil.example", "The page of 'https://evil.example' is a stranger here."),
    ],
)
def test_a_page_of_others_reads_nothing(headers: str, problem: str) -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}"):
        for path in ("/metrics", "/health"):
            status, _, body = answer(port, f"GET {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
            assert (status, body) == ("HTTP/1.1 403 Forbidden", f"{problem}\n")


def test_a_name_that_was_given_is_one() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}", "--http-host", "weft.example", "--http-host", "other.example"):
        for name in ("weft.example", f"other.example:{port}"):
            assert answer(port, f"GET /health HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())[0] == "HTTP/1.1 200 OK"


def test_a_request_without_an_end_is_not_kept() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}"), socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b"GET /metrics HTTP/1.1\r\n" + b"x" * 20_000)
        assert one.recv(1000) == b""
