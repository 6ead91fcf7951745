"""MQTT over WebSockets: binary frames of the subprotocol "mqtt", in which packets may begin and end anywhere.

A frame may have a byte, or none, and costs as much as a large one: so a read is taken a slice at a time, with the other
clients in between. Pings of one that does not read are not answered: it may tell us so (RFC 6455, 5.5.3).
"""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from weft.access.page import Pages
from weft.live.client import HIGH
from weft.live.stream import StreamClient

if TYPE_CHECKING:
    from weft.live.driver import Driver

NAMES = [Subprotocol("mqtt"), Subprotocol("mqttv3.1")]
UNSUPPORTED_DATA = 1003
PIECE, FRAMES = 2048, 250  # bytes taken at a time, and frames after which others have a turn: some milliseconds


class WebSocketClient(StreamClient):
    __slots__ = ("_is_paused", "_pages", "_rest", "_socket", "is_behind")

    def __init__(self, driver: "Driver", largest: int, pages: Pages, anonymous: bool = True) -> None:
        super().__init__(driver, anonymous)
        self._pages = pages
        self._socket = ServerProtocol(subprotocols=NAMES, max_size=largest)
        self._rest = bytearray()  # of a read, and has its turn
        self._is_paused = False  # by the driver
        self.is_behind = False  # and is not read for that

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
        else:
            self._rest = bytearray(data)
            self._take_turn()

    def pause(self) -> None:
        if not self.is_behind:
            super().pause()
        self._is_paused = True

    def unpause(self) -> None:
        if not self.is_behind:
            super().unpause()
        self._is_paused = False

    def _take_turn(self) -> None:
        """Read on; where that takes long, no more is asked for until it is done."""
        try:
            frames = 0
            while self._rest and frames < FRAMES and not self.transport.is_closing():
                piece = bytes(memoryview(self._rest)[:PIECE])
                del self._rest[:PIECE]
                frames += self._read(piece)
        except Exception as error:  # none of the broker's, which would have ended the process
            self._rest.clear()
            self.driver.defects.end_connection(error, self.transport)
        if self.transport.is_closing():
            self._rest.clear()
        elif self._rest:
            if not self.is_behind and not self._is_paused:
                super().pause()
            self.is_behind = True
            asyncio.get_running_loop().call_soon(self._take_turn)
        elif self.is_behind:
            self.is_behind = False
            if not self._is_paused:
                super().unpause()

    def _read(self, data: bytes) -> int:
        """Take a piece of a read. How many frames it had."""
        self._socket.receive_data(data)
        said = []  # by any number of frames
        events = self._socket.events_received()
        for event in events:
            if isinstance(event, Request):
                self._socket.send_response(self._answer(event))
            elif not isinstance(event, Frame):
                continue
            elif event.opcode is Opcode.TEXT:
                self._socket.fail(UNSUPPORTED_DATA, "MQTT is binary.")
            elif event.opcode in (Opcode.BINARY, Opcode.CONT):
                said.append(event.data)
        if self._socket.state is State.OPEN and self.transport.get_write_buffer_size() > HIGH:
            self._socket.data_to_send()  # what answers pings
        if said:
            super().data_received(b"".join(said))
        self._flush()
        return len(events)

    def _answer(self, request: Request) -> Response:
        """The upgrade, or a refusal of the page that wants it."""
        host, origin = (", ".join(request.headers.get_all(name)) or None for name in ("Host", "Origin"))
        problem = self._pages.websocket_refusal(host, origin)
        if problem:
            return self._socket.reject(
                HTTPStatus.FORBIDDEN, f"{problem} The option websocket-origin names those that are not.\n"
            )
        return self._socket.accept(request)

    def eof_received(self) -> None:
        self._socket.receive_eof()
        self._flush()

    def write(self, data: bytes) -> None:
        if self._socket.state is State.OPEN:
            self._socket.send_binary(data)
            self._flush()

    def finish(self) -> None:
        if self._socket.state is State.OPEN:
            self._socket.send_close()
            self._flush()
        super().finish()

    def _flush(self) -> None:
        for data in self._socket.data_to_send():
            if data:
                self.transport.write(data)
            elif not self.transport.is_closing():
                self.transport.close()
