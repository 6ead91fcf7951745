"""Files that are looked at every second, and at once on SIGHUP: certificates, users, rights. What is done every day."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from weft.errors import WeftError

INTERVAL = 1.0  # seconds
DAY = 86_400.0

Stamp = tuple[tuple[int, int, int] | None, ...]


class Watch:
    def __init__(self) -> None:
        self._watched: list[tuple[Sequence[Path], Callable[[], None]]] = []
        self._stamps: list[Stamp] = []
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, write: Callable[..., None]) -> None:
        """Look on SIGHUP, which ends nothing from now on."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up, write)

    def add(self, paths: Sequence[Path], changed: Callable[[], None]) -> None:
        """Call when one of the files is another than before."""
        self._watched.append((paths, changed))
        self._stamps.append(stamp_of(paths))

    def start(self) -> None:
        if self._watched:
            self._look_later()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self.look)

    def _hang_up(self, write: Callable[..., None]) -> None:
        if not self._watched:
            write("hangup", detail="there are no certificates, users or rights here that could be read again")
            return
        write("hangup", detail="certificates, users and rights are read again where they are others")
        self.look()

    def look(self) -> None:
        """Look now."""
        self._look_later()
        for place, (paths, changed) in enumerate(self._watched):
            stamp = stamp_of(paths)
            if stamp != self._stamps[place]:
                self._stamps[place] = stamp
                changed()


def stamp_of(paths: Sequence[Path]) -> Stamp:
    """What is another when a file is."""
    return tuple(map(_stamp_of, paths))


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


async def daily(renew: Callable[[], bool], write: Callable[..., None]) -> None:
    """Renew now and every day, beside the event loop; what is wrong is logged, and tried again."""
    while True:
        try:
            if await asyncio.to_thread(renew):
                write("certificate_renewed")
        except (WeftError, OSError) as error:
            write("certificate_not_renewed", detail=str(error))
        await asyncio.sleep(DAY)
