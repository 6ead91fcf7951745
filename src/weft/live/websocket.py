"""MQTT over WebSockets: binary frames of the subprotocol "mqtt", in which packets may begin and end anywhere."""

from http import HTTPStatus
from typing import TYPE_CHECKING

from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from weft.access.page import Pages
from weft.live.stream import StreamClient

if TYPE_CHECKING:
    from weft.live.driver import Driver

NAMES = [Subprotocol("mqtt"), Subprotocol("mqttv3.1")]
UNSUPPORTED_DATA = 1003


class WebSocketClient(StreamClient):
    __slots__ = ("_pages", "_socket")

    def __init__(self, driver: "Driver", largest: int, pages: Pages, anonymous: bool = True) -> None:
        super().__init__(driver, anonymous)
        self._pages = pages
        self._socket = ServerProtocol(subprotocols=NAMES, max_size=largest)

    def data_received(self, data: bytes) -> None:
        try:
            self._read(data)
        except Exception as error:  # none of the broker's, which would have ended the process
            self.driver.defects.end_connection(error, self.transport)

    def _read(self, data: bytes) -> None:
        self._socket.receive_data(data)
        said = []  # of one read, by any number of frames
        for event in self._socket.events_received():
            if isinstance(event, Request):
                self._socket.send_response(self._answer(event))
            elif not isinstance(event, Frame):
                continue
            elif event.opcode is Opcode.TEXT:
                self._socket.fail(UNSUPPORTED_DATA, "MQTT is binary.")
            elif event.opcode in (Opcode.BINARY, Opcode.CONT):
                said.append(event.data)
        if said:
            super().data_received(b"".join(said))
        self._flush()

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
