"""A process that appends numbered records to a journal, and says which are synced: `python ... FOLDER SYNC`."""

import asyncio
import sys
from pathlib import Path

from weft.journal.event import Event, Synced
from weft.journal.parameters import Parameters, Sync
from weft.live.journal import open_journal


async def run(folder: Path, sync: Sync) -> None:
    state: list[bytes] = []
    journal = open_journal(folder, state.extend, sync=sync, parameters=Parameters(20_000, 5_000, 50_000, 0.5))
    changed = asyncio.Event()

    def report(event: Event) -> None:
        if isinstance(event, Synced):
            print(event.position, flush=True)  # noqa: T201
            changed.set()

    journal.start(report, lambda: iter(list(state)))
    while True:
        for size in (1, 3, 20):
            records = [b"%d" % (journal.position + number) for number in range(size)]
            state.extend(records)
            journal.append(records)
        changed.clear()
        await changed.wait()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), Sync(sys.argv[2])))
