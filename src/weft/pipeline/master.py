"""Whether a cluster's master is there, asked before Java starts: Spark would try for a minute, and then say little.

That a port is open proves little: it may be a web page's, or a proxy's that opens for any address. So a master of Spark
is asked for something, in the frames of its own protocol, and it answers even to whom it does not know. The API server
of Kubernetes is asked for TLS, a server of Spark Connect for the settings with which every talk in HTTP/2 begins.
"""

import os
import socket
import ssl
from collections.abc import Callable, Mapping

from weft.errors import WeftError

ANSWER = 10.0  # seconds that a master has for it

Ask = Callable[[socket.socket], str | None]  # what is wrong with the answer

STREAM_REQUEST, STREAM_FAILURE = 6, 8  # kinds of messages (org.apache.spark.network.protocol.Message)
STREAM = b"/files/weft"  # which no master has
LENGTH = 8  # bytes of a frame that say how many it has

CONNECT = "sc://"
CONNECT_PORT = "15002"  # where no other is named
SETTINGS_FRAME = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # an empty one of HTTP/2: length, kind, flags, stream
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS_FRAME


def require_answer(master: str, conf: Mapping[str, str]) -> None:
    """Refuse spark://, k8s:// and sc:// addresses of which none answers."""
    scheme, _, rest = master.partition("://")
    if scheme == "sc":
        addresses, ask = [_connect_address(rest)], _ask_connect(rest)
    else:
        addresses = rest.removeprefix("https://").removeprefix("http://").rstrip("/").split(",")
        ask = _ask_tls if scheme == "k8s" else _ask_spark
    if rest.startswith("http://") or (scheme == "spark" and _is_encrypted(conf)):
        ask = _ask_nothing
    problems = [problem for address in addresses if (problem := _silence(address, ask))]
    if len(problems) == len(addresses):
        raise WeftError(f"No Spark master answers at {master}: {problems[0]}. Start it, or mend `master`.", "master")


def _silence(address: str, ask: Ask) -> str | None:
    """Why no master answers at host:port; none if one does."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        return f"{address} is not host:port"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER) as connection:
            return ask(connection)
    except TimeoutError:
        return f"no answer within {ANSWER:.0f} s"
    except OSError as error:
        return str(error.strerror or error)


def _ask_spark(connection: socket.socket) -> str | None:
    request = bytes([STREAM_REQUEST]) + len(STREAM).to_bytes(4, "big") + STREAM
    connection.sendall((LENGTH + len(request)).to_bytes(LENGTH, "big") + request)
    answer = connection.recv(LENGTH + 1, socket.MSG_WAITALL)
    if answer.startswith(b"HTTP"):
        return "a web server is there, and a master's own port is 7077 if nobody changed it"
    return None if answer[LENGTH:] == bytes([STREAM_FAILURE]) else "who is there does not speak Spark's protocol"


def _connect_address(rest: str) -> str:
    """Host and port of host, host:port and host:port/;parameters."""
    address = rest.partition("/")[0]
    return address if ":" in address.rpartition("]")[2] else f"{address}:{CONNECT_PORT}"


def _ask_connect(rest: str) -> Ask:
    """PySpark encrypts where it is told to, and where a token is sent to another machine."""
    return _ask_tls if "use_ssl=true" in rest.lower() or "token=" in rest else _ask_http2


def _ask_http2(connection: socket.socket) -> str | None:
    connection.sendall(PREFACE)
    answer = connection.recv(len(SETTINGS_FRAME), socket.MSG_WAITALL)
    return None if answer[3:4] == SETTINGS_FRAME[3:4] else "who is there does not speak Spark Connect's protocol"


def _ask_tls(connection: socket.socket) -> str | None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # whom to trust is for Spark to say
    context.wrap_socket(connection).close()
    return None


def _ask_nothing(_: socket.socket) -> str | None:
    return None


def _is_encrypted(conf: Mapping[str, str]) -> bool:
    """Whether Spark may be told to speak TLS: here, or in files of its own."""
    return any(key.startswith("spark.ssl") for key in conf) or bool(
        os.environ.keys() & {"SPARK_HOME", "SPARK_CONF_DIR"}
    )
