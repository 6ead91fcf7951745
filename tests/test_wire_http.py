"""Requests of HTTP, in any pieces."""

import pytest

from weft.wire.http import HEAD_BYTES, HttpError, Request, RequestReader

POST = b"POST /change?now=1 HTTP/1.1\r\nHost: here\r\ncontent-LENGTH: 5 \r\n\r\nhello and more"
GET = b"GET /metrics HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "request_"), [(POST, Request("POST", "/change", b"hello")), (GET, Request("GET", "/metrics", b""))]
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_request_comes_in_pieces(data: bytes, request_: Request, size: int) -> None:
    reader = RequestReader(5)
    answers = [reader.feed(data[at : at + size]) for at in range(0, len(data), size)]
    first = next(answer for answer in answers if answer is not None)
    assert first == request_
    whole = data.index(b"\r\n\r\n") + 4 + len(request_.body)
    assert answers.index(first) == (whole - 1) // size


def head(length: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\n"


@pytest.mark.parametrize("length", [b"6", b"1000000000000", b"9" * 5000])
def test_a_body_that_is_too_long_is_refused_before_it_comes(length: bytes) -> None:
    with pytest.raises(HttpError, match="At most 5 bytes") as told:
        RequestReader(5).feed(head(length))
    assert told.value.status == "413 Content Too Large"


@pytest.mark.parametrize("length", [b"x", b"-1", b""])
def test_a_length_that_is_no_number_is_none(length: bytes) -> None:
    assert RequestReader(5).feed(head(length)) == Request("POST", "/", b"")


CHUNKED = b"POST /ask HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"2\r\nhe\r\n03\r\nllo\r\n0\r\n\r\n", b"hello"),
        (b"A;name=value\r\n\r\n45678\r\n9\r\n000\r\nField: of a trailer\r\n\r\n", b"\r\n45678\r\n9"),
        (b"0\r\n\r\n", b""),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_body_in_chunks_comes_in_pieces(body: bytes, content: bytes, size: int) -> None:
    reader, data = RequestReader(10), CHUNKED + body
    answers = [reader.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert answers == [None] * (len(answers) - 1) + [Request("POST", "/ask", content)]


def test_chunks_are_bounded_in_all_together() -> None:
    reader = RequestReader(10)
    assert reader.feed(CHUNKED + b"6\r\n123456\r\n") is None
    with pytest.raises(HttpError, match="At most 10 bytes") as told:
        reader.feed(b"5\r\n")
    assert told.value.status == "413 Content Too Large"
    assert len(reader._data) < 100, "what was read is not kept twice"


@pytest.mark.parametrize(
    ("fields", "body", "status"),
    [
        (b"Transfer-Encoding: gzip, chunked", b"", "501 Not Implemented"),
        (b"Transfer-Encoding: identity", b"", "501 Not Implemented"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 5", b"", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"x\r\n", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"\r\n", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"-1\r\n", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"f" * 13 + b"\r\n", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"1" * 256, "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"1\r\nabc", "400 Bad Request"),
        (b"transfer-encoding:Chunked", b"0\r\n" + b"a" * HEAD_BYTES, "431 Request Header Fields Too Large"),
    ],
)
def test_a_body_whose_end_cannot_be_told_is_refused(fields: bytes, body: bytes, status: str) -> None:
    with pytest.raises(HttpError) as told:
        RequestReader(5).feed(b"POST / HTTP/1.1\r\n" + fields + b"\r\n\r\n" + body)
    assert told.value.status == status


def test_a_head_without_end_is_refused() -> None:
    longest = b"GET / HTTP/1.1\r\n" + b"a" * (HEAD_BYTES - 16)
    reader = RequestReader(5)
    assert reader.feed(longest) is None
    assert reader.feed(b"\r\n\r\n") == Request("GET", "/", b"")
    with pytest.raises(HttpError, match="At most 8,192 bytes of headers") as told:
        RequestReader(5).feed(longest + b"a")
    assert told.value.status == "431 Request Header Fields Too Large"
