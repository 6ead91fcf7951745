"""What of MQTT an operator has switched off or bounded, for publications and wills alike.

A client of MQTT 5 reads it in CONNACK, all but the size of a payload, for which the standard has no word. Who goes
beyond it all the same has broken the standard [MQTT-3.2.2-11, 3.2.2-14], and the connection ends: before MQTT 5 there
is no other answer.
"""

from weft.broker.parameters import Parameters
from weft.wire.mqtt.packet import Publish, Will
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import PacketError, Reason


def told(parameters: Parameters) -> Properties:
    """Properties of CONNACK. What is not told is there."""
    terms: Properties = {}
    if parameters.maximum_qos < 2:
        terms[Property.MAXIMUM_QOS] = parameters.maximum_qos
    if not parameters.retained_messages:
        terms[Property.RETAIN_AVAILABLE] = 0
    return terms


def require(parameters: Parameters, said: Publish | Will) -> None:
    """Raise what is beyond it."""
    if said.qos > parameters.maximum_qos:
        raise PacketError(Reason.QOS_NOT_SUPPORTED, f"QoS is at most {parameters.maximum_qos} here.")
    if said.retain and not parameters.retained_messages:
        raise PacketError(Reason.RETAIN_NOT_SUPPORTED, "Nothing is retained here.")
    if len(said.payload) > parameters.message_bytes:
        raise PacketError(Reason.PACKET_TOO_LARGE, f"A payload has at most {parameters.message_bytes} bytes here.")
