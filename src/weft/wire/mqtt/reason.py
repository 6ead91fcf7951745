"""Reason codes of MQTT 5, and what takes their place in 3.1.1."""

from enum import IntEnum


class Reason(IntEnum):
    SUCCESS = 0x00  # also: normal disconnection, granted QoS 0
    GRANTED_QOS_1 = 0x01
    GRANTED_QOS_2 = 0x02
    DISCONNECT_WITH_WILL = 0x04
    NO_MATCHING_SUBSCRIBERS = 0x10
    NO_SUBSCRIPTION_EXISTED = 0x11
    CONTINUE_AUTHENTICATION = 0x18
    REAUTHENTICATE = 0x19
    UNSPECIFIED_ERROR = 0x80
    MALFORMED_PACKET = 0x81
    PROTOCOL_ERROR = 0x82
    IMPLEMENTATION_SPECIFIC_ERROR = 0x83
    UNSUPPORTED_PROTOCOL_VERSION = 0x84
    CLIENT_IDENTIFIER_NOT_VALID = 0x85
    BAD_USER_NAME_OR_PASSWORD = 0x86
    NOT_AUTHORIZED = 0x87
    SERVER_UNAVAILABLE = 0x88
    SERVER_BUSY = 0x89
    BANNED = 0x8A
    SERVER_SHUTTING_DOWN = 0x8B
    BAD_AUTHENTICATION_METHOD = 0x8C
    KEEP_ALIVE_TIMEOUT = 0x8D
    SESSION_TAKEN_OVER = 0x8E
    TOPIC_FILTER_INVALID = 0x8F
    TOPIC_NAME_INVALID = 0x90
    PACKET_IDENTIFIER_IN_USE = 0x91
    PACKET_IDENTIFIER_NOT_FOUND = 0x92
    RECEIVE_MAXIMUM_EXCEEDED = 0x93
    TOPIC_ALIAS_INVALID = 0x94
    PACKET_TOO_LARGE = 0x95
    MESSAGE_RATE_TOO_HIGH = 0x96
    QUOTA_EXCEEDED = 0x97
    ADMINISTRATIVE_ACTION = 0x98
    PAYLOAD_FORMAT_INVALID = 0x99
    RETAIN_NOT_SUPPORTED = 0x9A
    QOS_NOT_SUPPORTED = 0x9B
    USE_ANOTHER_SERVER = 0x9C
    SERVER_MOVED = 0x9D
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E
    CONNECTION_RATE_EXCEEDED = 0x9F
    MAXIMUM_CONNECT_TIME = 0xA0
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED = 0xA1
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED = 0xA2


class ConnectReturn(IntEnum):
    """What CONNACK says before MQTT 5."""

    ACCEPTED = 0
    UNACCEPTABLE_VERSION = 1
    IDENTIFIER_REJECTED = 2
    SERVER_UNAVAILABLE = 3
    BAD_USER_NAME_OR_PASSWORD = 4
    NOT_AUTHORIZED = 5


SUBACK_FAILURE = 0x80  # the one failure that SUBACK of 3.1.1 knows

# CONNACK of 3.1.1 for a refusal of MQTT 5. A refusal that is not here closes the connection without CONNACK.
CONNECT_RETURNS = {
    Reason.UNSUPPORTED_PROTOCOL_VERSION: ConnectReturn.UNACCEPTABLE_VERSION,
    Reason.CLIENT_IDENTIFIER_NOT_VALID: ConnectReturn.IDENTIFIER_REJECTED,
    Reason.SERVER_UNAVAILABLE: ConnectReturn.SERVER_UNAVAILABLE,
    Reason.SERVER_BUSY: ConnectReturn.SERVER_UNAVAILABLE,
    Reason.QUOTA_EXCEEDED: ConnectReturn.SERVER_UNAVAILABLE,
    Reason.BAD_USER_NAME_OR_PASSWORD: ConnectReturn.BAD_USER_NAME_OR_PASSWORD,
    Reason.NOT_AUTHORIZED: ConnectReturn.NOT_AUTHORIZED,
}


class PacketError(Exception):
    """The other side broke the standard. The reason is what a DISCONNECT or CONNACK of MQTT 5 says."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class UnreadableError(PacketError):
    """A packet could not be read for a defect of ours, which is the cause of this. Nothing was changed by then."""

    def __init__(self) -> None:
        super().__init__(Reason.IMPLEMENTATION_SPECIFIC_ERROR, "The packet cannot be read here.")


def malformed(text: str) -> PacketError:
    return PacketError(Reason.MALFORMED_PACKET, text)


def protocol_error(text: str) -> PacketError:
    return PacketError(Reason.PROTOCOL_ERROR, text)


def quota_exceeded(text: str) -> PacketError:
    return PacketError(Reason.QUOTA_EXCEEDED, text)
