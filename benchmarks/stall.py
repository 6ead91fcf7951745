"""What one client does to all others: how long they wait, and what memory it takes, beside Mosquitto in the same run.

    python benchmarks/stall.py [--only filters,shared] [--repeat 3] [--small]

Each attack (`attack.py`) is made on a `weft node` with its defaults and a journal, and on a Mosquitto with its
defaults, started for it alone. Meanwhile an ordinary client (`prober.py`) publishes to itself every few milliseconds,
and comes anew and subscribes: its longest wait is what is told, in milliseconds beyond what it waits at rest. Memory
is by how much the process's resident memory was larger at its peak than when the attack began. An attack holds if
others waited no longer than 50 ms, or than at Mosquitto. Of several runs the medians count. Besides, of the node, the
longest that it has worked without a break is told (`slices.py`), as time of its processor: what a machine that does
other things too adds to the waits is not in that.
"""

import argparse
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from attack import ATTACKS, Attack, Site
from bridged import WEFT
from broker_mqtt import await_port
from markdown import head, row
from prober import PASSWORD, USERS, Prober
from slices import COMMAND, FILE, Longest
from weft.access.password import SALT_BYTES, keep

LONGEST = 120.0  # seconds of an attack, and of what it prepares
PATIENCE = 30.0  # seconds until who waits is taken not to be served at all
SETTLING = 1.0  # seconds that it is measured after an attack is over
ENDING = 20.0  # seconds that a broker has to end
ALLOWED = 0.05  # seconds that others may wait in any case
MIB = 1 << 20
MOSQUITTO = """listener {port} 127.0.0.1
listener {websocket} 127.0.0.1
protocol websockets
listener {second} 127.0.0.1
allow_anonymous {anonymous}
persistence false
user root
"""


@dataclass(frozen=True)
class Found:
    wait: float  # seconds; infinite if the broker has ended
    memory: float  # MiB
    slice_: float  # seconds of the processor; 0 of a Mosquitto, which does not tell


Start = Callable[[Attack, Path, int], Iterator[subprocess.Popen[bytes]]]


# Brokers


def weft(attack: Attack, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    listen = [
        "--listen",
        f"127.0.0.1:{port}",
        "--listen",
        f"ws://127.0.0.1:{port + 1}",
        "--http",
        f"127.0.0.1:{port + 2}",
    ]
    options = ["--data", str(folder / "data"), *listen]
    if attack.users:
        kept = keep(PASSWORD.encode(), bytes(SALT_BYTES))
        (folder / "users").write_text("".join(f"user-{n}:{kept}\n" for n in range(USERS)))
        (folder / "rights").write_text("pattern readwrite probe/#\n")
        options += ["--users", str(folder / "users"), "--rights", str(folder / "rights")]
    if attack.tls:
        own = credentials(folder)
        options += ["--listen", f"mqtts://127.0.0.1:{port + 5}"]
        options += ["--certificate", str(own / "certificate.pem"), "--key", str(own / "key.pem")]
    if not attack.network:
        yield from started([*COMMAND, "node", *options], attack, folder, port)
        return
    master = [*WEFT, "master", "--listen", f"127.0.0.1:{port + 4}", "--data", str(folder / "master"), "--quiet"]
    with ended(subprocess.Popen(master, stdout=subprocess.DEVNULL, preexec_fn=limit_of(attack))):
        await_port(port + 4)
        options += ["--master", f"127.0.0.1:{port + 4}", "--link", f"127.0.0.1:{port + 3}"]
        yield from started([*COMMAND, "node", *options], attack, folder, port)


def mosquitto(attack: Attack, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    places = {"port": port, "websocket": port + 1, "second": port + 2}
    text = MOSQUITTO.format(**places, anonymous=str(not attack.users).lower())
    if attack.users:
        users = folder / "passwords"
        users.write_text("".join(f"user-{n}:{PASSWORD}\n" for n in range(USERS)))
        subprocess.run(["mosquitto_passwd", "-U", str(users)], check=True)
        text += f"password_file {users}\n"
    if attack.tls:
        own = credentials(folder)
        text += f"listener {port + 5} 127.0.0.1\ncertfile {own / 'certificate.pem'}\nkeyfile {own / 'key.pem'}\n"
    (folder / "mosquitto.conf").write_text(text)
    yield from started([path_of_mosquitto(), "-c", str(folder / "mosquitto.conf")], attack, folder, port)


def credentials(folder: Path) -> Path:
    """A certificate for TLS, and its key."""
    own = folder / "credentials"
    for command in (("init",), ("node", "broker", "--out", str(own))):
        where = ("--ca", str(folder / "ca"), "--host", "127.0.0.1")
        subprocess.run([*WEFT, "ca", *command, *where], check=True, stdout=subprocess.DEVNULL)
    return own


def path_of_mosquitto() -> str:
    path = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
    return path or sys.exit("mosquitto is not installed.")


def started(command: list[str], attack: Attack, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A broker that can be connected to, with the log and the limit of files that an attack asks for."""
    reading = None
    if attack.log == "pipe":
        reading, log = os.pipe()
    else:
        log = os.open("/dev/full" if attack.log == "full" else folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    told = {**os.environ, FILE: str(folder / "slices")}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=told, preexec_fn=limit_of(attack))
    os.close(log)
    with ended(process):
        await_port(port)
        if reading is not None:
            os.close(reading)
        yield process


def limit_of(attack: Attack) -> Callable[[], None] | None:
    """What sets the limit of open files in a process that is about to start."""
    if attack.descriptors is None:
        return None
    return partial(resource.setrlimit, resource.RLIMIT_NOFILE, (attack.descriptors, attack.descriptors))


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """See to it that a process ends; one that has much to write may be killed, for nothing of it is wanted."""
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
        process.kill()
        process.wait()


# One attack


def attacked(start: Start, attack: Attack, size: argparse.Namespace) -> Found:
    with (
        tempfile.TemporaryDirectory(dir=size.folder) as folder,
        contextmanager(start)(attack, Path(folder), size.port) as broker,
    ):
        prober = Prober(size.port, attack.users, PATIENCE * min(1.0, size.scale * 10))
        try:
            prober.await_rest()
            return measured(broker, prober, attack, size, Longest(Path(folder) / "slices"))
        finally:
            prober.end()


def measured(
    broker: subprocess.Popen[bytes], prober: Prober, attack: Attack, size: argparse.Namespace, longest: Longest
) -> Found:
    here = get_context("fork")
    mine, theirs = here.Pipe()
    attacker = here.Process(target=attack_from_outside, args=(attack, size, theirs), daemon=True)
    attacker.start()
    theirs.close()
    before = 0
    try:
        if not mine.poll(LONGEST):
            sys.exit(f"Nothing was attacked within {LONGEST:.0f} s: {attack.sentence}.")
        mine.recv()
        before, longest.seconds = resident_from_now(broker.pid), 0.0
        prober.begin()
        mine.send("begun")
        attacker.join(LONGEST * min(1.0, size.scale * 10))
        if attacker.exitcode is None:
            print(f"Not all of it was done in the time that there is: {attack.sentence}.", file=sys.stderr)
        elif attacker.exitcode:
            sys.exit(f"This was not done for an error of its own: {attack.sentence}.")
    finally:
        attacker.kill()  # what it has open is closed
        attacker.join()
    time.sleep(SETTLING * min(1.0, size.scale * 10))
    alive = broker.poll() is None
    wait = prober.longest()
    if not alive:
        return Found(float("inf"), 0.0, 0.0)
    return Found(wait, (peak(broker.pid) - before) / MIB, longest.seconds)


def attack_from_outside(attack: Attack, size: argparse.Namespace, main: Connection) -> None:
    """Attack from a process that stands back for the broker and for the ordinary client."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(10)
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))

    def begin() -> None:
        main.send("begin")
        main.recv()

    second = size.port + 2
    link, master = (size.port + 3, size.port + 4) if size.of_weft else (second, second)
    attack.run(Site(size.port, size.port + 1, second, link, master, size.port + 5, begin, size.scale))


def resident_from_now(pid: int) -> int:
    """Resident bytes; the peak is counted from now on."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return field_of(pid, "VmRSS")


def peak(pid: int) -> int:
    return field_of(pid, "VmHWM")


def field_of(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


# The table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(ATTACKS), help="names of attacks, with commas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="a hundredth of everything, once: a toy")
    parser.add_argument("--scale", type=float, default=1.0, help="share of everything")
    parser.add_argument("--port", type=int, default=21_700, help="the first of six that are used")
    parser.add_argument("--folder", type=Path, help="on the disk to use; a temporary one if not given")
    size = parser.parse_args()
    if size.small:
        size.scale, size.repeat = 0.01, 1
    if unknown := [name for name in size.only.split(",") if name not in ATTACKS]:
        sys.exit(f"There is no attack {unknown[0]}: give some of {', '.join(ATTACKS)}.")
    path_of_mosquitto()
    head("attack", "Weft: ms", "a slice: ms", "Mosquitto: ms", "Weft: MiB", "Mosquitto: MiB", "holds")
    names = size.only.split(",")
    held = sum(compared(ATTACKS[name], size) for name in names)
    print(f"\n{held} of {len(names)} hold.")


def compared(attack: Attack, size: argparse.Namespace) -> bool:
    found: dict[Start, list[Found]] = {weft: [], mosquitto: []}
    for _ in range(size.repeat):
        for start, of_it in found.items():
            size.of_weft = start is weft
            of_it.append(attacked(start, attack, size))
    waits = [statistics.median(one.wait for one in of_it) for of_it in found.values()]
    memory = [statistics.median(one.memory for one in of_it) for of_it in found.values()]
    holds = waits[0] <= max(ALLOWED, waits[1])
    slice_ = statistics.median(one.slice_ for one in found[weft])
    times = (f"{one * 1e3:,.0f}" for one in (waits[0], slice_, waits[1]))
    row(attack.sentence, *times, *(f"{max(0.0, one):,.0f}" for one in memory), "yes" if holds else "no")
    return holds


if __name__ == "__main__":
    main()
