"""MQTT 3.1, 3.1.1 and 5: bytes to packets and back, in one grammar.

    field       what packets are made of: integers, strings, binary data
    property    the properties of MQTT 5 as a table
    reason      reason codes, and the codes of 3.1.1's CONNACK
    packet      packets as values
    parser      bytes to packets, incremental
    writer      packets to bytes
    topic       names and filters: what is one, which matches which

Codecs on the registry, looked at in November 2026. mqtt5 0.8 (Rust, sans-IO, maintained) is the best: it reads a
PUBLISH of 100 bytes in 0.4 us, this parser in 3. But it has MQTT 5 only, its errors carry no reason code, and it makes
an object of every packet, where the lane of `broker/lane.py` passes a PUBLISH on as the bytes it came in. amqtt 0.12
has 3.1.1 only and reads from asyncio's streams; gmqtt 0.8 and mqttools 0.50 are clients with codecs inside, MQTT 5 or
a client's half only; hbmqtt is no longer maintained. Two codecs for two versions would be two grammars, so this one is
ours.
"""
