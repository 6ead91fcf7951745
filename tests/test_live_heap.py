"""Free memory goes back to the system, again and again, and where the C library cannot give it back nothing happens."""

import asyncio
import sys

import pytest

from weft.live.heap import Heap, trimmer


def test_it_is_given_back_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.live.heap.EVERY", 0.001)
    kept: list[int] = []

    async def main() -> None:
        Heap(lambda pad: kept.append(pad) or 1).watch()
        async with asyncio.timeout(20):
            while len(kept) < 3:
                await asyncio.sleep(0.001)

    asyncio.run(main())
    assert set(kept) == {0}


def test_where_it_cannot_be_given_back_nothing_is_done() -> None:
    async def main() -> None:
        Heap(None).watch()

    asyncio.run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_the_c_library_is_asked() -> None:
    trim = trimmer()
    assert trim is None or trim(0) in (0, 1)
