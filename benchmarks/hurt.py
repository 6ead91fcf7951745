"""A network of real processes that can be hurt one by one: killed, stopped, cut off, filled up, and started again.

Links can pass through proxies here, one in front of every node (`weft node --advertise`). A proxy that is cut takes
nothing from either side and says nothing to either, as a cable does that is pulled.
"""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from weft.cli.up import PRELOAD, start_master, start_node
from weft.live.address import Address
from weft.live.fleet import HOST, Fleet, Guard, Processes, Stop
from weft.live.operator import ask

SETTLING = 120.0  # seconds
SMALL = "16m"  # a disk that is soon full


class Network:
    """Nodes on `port` and those that follow, the master behind them, then links, then proxies."""

    def __init__(self, nodes: int, port: int, data: Path, *, proxied: bool = False, small: int | None = None) -> None:
        self.fleet = Fleet(nodes, port, data, "process", None, False)
        self.master = Address(HOST, port + nodes)
        self.proxies = [Proxy(port + 2 * nodes + 1 + n, port + nodes + 1 + n) for n in range(nodes * proxied)]
        self.small = small  # the node with a small disk
        self._guard, self._stop = Guard(), Stop()
        self._processes = Processes(self._guard.group, print)
        self._forks = get_context("forkserver")
        self._forks.set_forkserver_preload(PRELOAD)
        if small is not None:
            mount(self.folder(small))

    @property
    def nodes(self) -> int:
        return self.fleet.nodes

    def port(self, node: int) -> int:
        return self.fleet.port + node

    def folder(self, node: int) -> Path:
        assert self.fleet.data is not None
        return self.fleet.data / f"node-{node}"

    def pid(self, node: int | None) -> int:
        """The process of a node, or the master's."""
        return self._processes.running["master" if node is None else f"node-{node}"].pid or 0

    def pids(self) -> list[int]:
        return [process.pid or 0 for process in self._processes.running.values()]

    def start(self) -> None:
        self._start(None)
        for node in range(self.nodes):
            self._start(node)
        self._processes.await_all(self._stop)

    def kill(self, *nodes: int | None) -> None:
        for node in nodes:
            os.kill(self.pid(node), signal.SIGKILL)
        for node in nodes:
            self._processes.running["master" if node is None else f"node-{node}"].join()

    def restart(self, *nodes: int | None) -> None:
        for node in nodes:
            self._start(node)
        self._processes.await_all(self._stop)

    def settled(self) -> dict[str, Any]:
        """The status when all nodes and links are up."""
        until = time.monotonic() + SETTLING
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                status = ask(self.master, "status")
                up = [node["state"] for node in status["nodes"]] == ["up"] * self.nodes
                if up and status["links"] == status["links_up"]:
                    return dict(status)
            time.sleep(0.1)
        raise SystemExit("The network does not settle: not all nodes and links are up.")

    def end(self) -> None:
        self._processes.end()
        self._guard.end()
        if self.small is not None:
            subprocess.run(["umount", str(self.folder(self.small))], check=False)

    def _start(self, node: int | None) -> None:
        if node is None:
            own = self.fleet.master_options()
            self._processes.start(get_context("spawn"), "master", start_master, own, self._stop)
            return
        options = self.fleet.node_options(node)
        if self.proxies:
            proxy = self.proxies[node]
            options |= {"link": f"{HOST}:{proxy.target}", "advertise": f"{HOST}:{proxy.port}"}
        self._processes.start(self._forks, f"node-{node}", start_node, options, self._stop)


def mount(folder: Path) -> None:
    """A small disk of its own for a folder; whoever runs this must be allowed to mount."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the room that there is; the file that has it."""
    taken = folder / "taken"
    with contextlib.suppress(OSError), taken.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return taken


class Proxy:
    """Passes on what comes to a port to another, and back."""

    def __init__(self, port: int, target: int) -> None:
        self.port, self.target = port, target
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter, asyncio.Event]] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._take, HOST, self.port)

    def cut(self, chance: random.Random) -> bool:
        """Let one of its connections carry nothing any more. Whether there is one."""
        open_ = [flows for one, _, flows in self._pairs if flows.is_set() and not one.is_closing()]
        if open_:
            chance.choice(open_).clear()
        return bool(open_)

    def mend(self) -> None:
        """Close what was cut, as a host does that answers again and knows nothing of it."""
        for one, other, flows in self._pairs:
            if not flows.is_set():
                one.close()
                other.close()
                flows.set()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for one, other, _ in self._pairs:
            one.close()
            other.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self.target)
        except OSError:
            writer.close()
            return
        flows = asyncio.Event()
        flows.set()
        pair = (writer, far_writer, flows)
        self._pairs.append(pair)
        await asyncio.gather(_pass(reader, far_writer, flows), _pass(far_reader, writer, flows))
        self._pairs.remove(pair)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            await flows.wait()
            writer.write(data)
            await writer.drain()
    writer.close()
