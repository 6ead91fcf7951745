"""Stages that can be resumed: one that has finished with the same options after the same stages is not run again.

A stage writes its output whole or not at all; `run.json` then says what it was made with. So a killed run continues
where it was, and a changed option runs its own stage again and those behind it, and no others. Of a finished run that
would lose what somebody may still need, so there it wants `force`.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.model.storage import new_path

STATE = "run.json"


@dataclass(frozen=True)
class Stage:
    name: str
    output: str  # a file or folder of the run
    options: Mapping[str, Any]  # all that the output depends on, beside the stages before
    work: Callable[[Path], Mapping[str, Any]]  # writes the output, returns figures to print


@dataclass(frozen=True)
class Outcome:
    stage: str
    output: Path
    result: Mapping[str, Any]
    seconds: float
    reused: bool


def run_stages(folder: Path, stages: Sequence[Stage], force: bool = False) -> Iterator[Outcome]:
    """Outcomes as they come. What a finished run made with other options is replaced with `force` only."""
    state, keys = _read_state(folder), _keys(stages)
    changed = [stage for stage in stages if stage.name in state and state[stage.name]["key"] != keys[stage.name]]
    is_finished = stages[-1].name in state and (folder / stages[-1].output).exists()
    if changed and is_finished and not force:
        raise _of_other_options(folder, [stage for stage in stages if stage in changed or stage.name not in state])
    if changed:  # the run is not finished until all of it is of these options
        for stage in changed:
            del state[stage.name]
        _write_state(folder, state)
    for stage in stages:
        key = keys[stage.name]
        output = folder / stage.output
        reused = state.get(stage.name, {}).get("key") == key and output.exists()
        if not reused:
            start = time.perf_counter()
            result = dict(stage.work(output))
            state[stage.name] = {"key": key, "result": result, "seconds": round(time.perf_counter() - start, 3)}
            _write_state(folder, state)
        yield Outcome(stage.name, output, state[stage.name]["result"], state[stage.name]["seconds"], reused)


def _of_other_options(folder: Path, again: Sequence[Stage]) -> WeftError:
    names = ", ".join(stage.name for stage in again if not Path(stage.output).is_absolute())
    return WeftError(
        f"{folder} is a finished run, of other options or data: {names} would be made again, and what is there lost. "
        "Replace it with `force`, or choose another folder.",
        "force",
    )


def _keys(stages: Sequence[Stage]) -> dict[str, str]:
    """What each output depends on: the options of its stage, and of all before."""
    keys, key = {}, ""
    for stage in stages:
        key = keys[stage.name] = _key(key, stage)
    return keys


def _key(earlier: str, stage: Stage) -> str:
    text = json.dumps([earlier, stage.name, stage.options], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _read_state(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    if path.is_file():
        try:
            return dict(json.loads(path.read_text())["stages"])
        except (ValueError, TypeError, KeyError) as error:
            raise WeftError(f"{path} cannot be read: remove {folder} or choose another folder.") from error
    if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
        raise WeftError(f"{folder} exists and is not a run of weft: choose another folder.")
    return {}


def _write_state(folder: Path, state: Mapping[str, Any]) -> None:
    with new_path(folder / STATE, force=True) as partial:
        partial.write_text(json.dumps({"stages": state}, indent=2) + "\n")
