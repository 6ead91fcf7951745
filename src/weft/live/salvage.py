"""What can be read of the folder of a node or a master, in another folder that either can start with."""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from weft.errors import SurroundingsError, WeftError
from weft.journal.name import is_journal
from weft.journal.salvage import Loss, salvaged, write_salvaged
from weft.live import identity, store
from weft.live.disk import LOCK, STORE, Disk, Shown, unused
from weft.model.storage import new_folder
from weft.node import record
from weft.node.recovery import Recovery
from weft.wire.frame_field import FrameError
from weft.wire.journal import SALT_BYTES

LOST_RUNS = 1000  # of a node, at most, that a gap in its journal can hide


def salvage(folder: Path, out: Path) -> dict[str, Any]:
    """Write it. What was read, and in sentences what could not be."""
    if not folder.is_dir():
        raise WeftError(f"{folder} is no folder: give that of a node or a master.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise WeftError(f"`out` {out} is in {folder}, which is only read: give another folder.", "out")
    if out.exists():
        raise WeftError(f"`out` {out} exists already: give a folder that is not there yet.", "out")
    with unused(folder) as shown:
        is_master = (folder / STORE).exists()
        if not is_master and not any(map(is_journal, shown.names())):
            raise WeftError(f"{folder} has neither a journal nor a master's store: give that of a node or a master.")
        with new_folder(out) as made:
            made.chmod(0o700)
            return (_of_master if is_master else _of_node)(shown, folder, made)


def _of_master(_: Shown, folder: Path, out: Path) -> dict[str, Any]:
    found = store.read_damaged(folder / STORE)
    store.write_store(out / STORE, found.records)
    lost = [] if found.lost == 0 else [f"{folder / STORE}: {_number(found.lost)} cannot be read"]
    if found.records and not found.cluster:
        lost.append("the name of the network: start the master with its option cluster, and the name that nodes have")
    kinds = [one.kind for one in found.records]
    counts = {name: kinds.count(kind) for kind, name in (("node", "nodes"), ("filter", "filters"))}
    return {
        "of": "master",
        "cluster": found.cluster or None,
        "records": len(found.records),
        **counts,
        "sessions": kinds.count("session"),
        "lost": lost + _copied(folder, out, {STORE, f"{STORE}-wal", f"{STORE}-shm"}),
    }


def _of_node(shown: Shown, folder: Path, out: Path) -> dict[str, Any]:
    found, lost = salvaged(shown), []
    who = None
    try:
        who = identity.kept_identity(folder) if (folder / identity.FILE).exists() else None
    except SurroundingsError:
        lost.append(f"{folder / identity.FILE}: who the node was; it joins as a new one, and owes nobody what it did")
    recovery = Recovery(0 if who is None else who.incarnation)
    records = [one for one in found.records if _is_known(recovery, one)]
    if found.losses and who is not None:
        records.append(record.encode(recovery.start_behind(LOST_RUNS)))
    disk = Disk(out)
    write_salvaged(disk, records, found.position, partial(os.urandom, SALT_BYTES))
    disk.close()
    (out / LOCK).unlink()
    lost += map(_sentence, found.losses)
    skipped = {name for name in shown.names() if is_journal(name)} | ({identity.FILE} if who is None else set())
    sessions = recovery.broker.sessions.values()
    return {
        "of": "node",
        "node": None if who is None else who.name,
        "records": len(records),
        "sessions": len(sessions),
        "waiting": sum(len(one.deliveries) for one in sessions),
        "retained": len(recovery.broker.retained),
        "owed": len(recovery.owed),
        "lost": lost + _copied(folder, out, skipped),
    }


def _is_known(recovery: Recovery, data: bytes) -> bool:
    """Whether the record says something, which `recovery` then knows."""
    try:
        recovery.replay([data])
    except (FrameError, KeyError, IndexError):
        return False
    return True


def _sentence(loss: Loss) -> str:
    if loss.begin == loss.end == 0:
        return f"{loss.file}: the file is missing, with {_number(loss.records)}"
    return f"{loss.file}: bytes {loss.begin} to {loss.end} cannot be read, {_number(loss.records)}"


def _number(records: int | None) -> str:
    return "an unknown number of records" if records is None else f"{records:,} record{'s' * (records != 1)}"


def _copied(folder: Path, out: Path, skipped: set[str]) -> list[str]:
    """Copy all else that is in the folder, such as certificates. What cannot be read."""
    lost = []
    for path in sorted(folder.iterdir()):
        if path.name in {LOCK, *skipped}:
            continue
        try:
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, out / path.name)
        except (OSError, shutil.Error) as error:
            lost.append(f"{path}: it cannot be copied ({error})")
    return lost
