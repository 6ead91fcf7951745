"""MQTT over WebSockets: binary frames of the subprotocol "mqtt", in which packets may begin and end anywhere."""

from typing import TYPE_CHECKING

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from weft.live.stream import StreamClient

if TYPE_CHECKING:
    from weft.live.driver import Driver

NAMES = [Subprotocol("mqtt"), Subprotocol("mqttv3.1")]
UNSUPPORTED_DATA = 1003


class WebSocketClient(StreamClient):
    __slots__ = ("_socket",)

    def __init__(self, driver: "Driver", largest: int, anonymous: bool = True) -> None:
        super().__init__(driver, anonymous)
        self._socket = ServerProtocol(subprotocols=NAMES, max_size=largest)

    def data_received(self, data: bytes) -> None:
        try:
            self._socket.receive_data(data)
            events = self._socket.events_received()
        except Exception as error:
            self.driver.defects.end_connection(error, self.transport)
            return
        said = []  # of one read, by any number of frames
        for event in events:
            if isinstance(event, Request):
                self._socket.send_response(self._socket.accept(event))
            elif not isinstance(event, Frame):
                continue
            elif event.opcode is Opcode.TEXT:
                self._socket.fail(UNSUPPORTED_DATA, "MQTT is binary.")
            elif event.opcode in (Opcode.BINARY, Opcode.CONT):
                said.append(event.data)
        if said:
            super().data_received(b"".join(said))
        self._flush()

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
