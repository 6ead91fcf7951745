"""Packets for hypothesis: any valid packet of a version."""

from hypothesis import strategies as st

from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import REASONS
from weft.wire.mqtt.property import BINARY, BYTE, FOUR, PAIR, RULES, STRING, TWO, VARIABLE, WILL, Properties, Property

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
level = st.text(st.characters(exclude_characters="\0+#/$", exclude_categories=["Cs"]), max_size=4)
names = st.lists(level, min_size=1, max_size=4).map("/".join).filter(bool)
filters = st.tuples(
    st.lists(st.one_of(level, st.just("+")), min_size=1, max_size=4), st.sampled_from(["", "/#"]), st.booleans()
).map(lambda drawn: ("$share/group/" if drawn[2] else "") + ("/".join(drawn[0]) or "a") + drawn[1])
payloads = st.binary(max_size=300)
identifiers = st.integers(1, 65535)
VALUES = {
    TWO: st.integers(0, 65535),
    FOUR: st.integers(0, 2**32 - 1),
    VARIABLE: st.integers(0, 268_435_455),
    STRING: text,
    BINARY: st.binary(max_size=20),
    PAIR: st.tuples(text, text),
    BYTE: st.integers(0, 255),
}


def value_of(identifier: Property, place: int) -> st.SearchStrategy:
    rule = RULES[identifier]
    if identifier is Property.RESPONSE_TOPIC:
        return names
    one = VALUES[rule.kind]
    if rule.kind not in (STRING, BINARY, PAIR):
        one = one.filter(lambda value: value >= rule.least) if rule.most is None else st.integers(rule.least, rule.most)
    if place in rule.repeats:
        return st.lists(one, min_size=1, max_size=3).map(tuple)
    return st.tuples(one) if identifier is Property.SUBSCRIPTION_IDENTIFIER else one


def properties(place: int, version: p.Version) -> st.SearchStrategy[Properties]:
    if version is not p.Version.V5:
        return st.just({})
    allowed = [identifier for identifier, rule in RULES.items() if place in rule.places]
    return st.fixed_dictionaries({}, optional={one: value_of(one, place) for one in allowed})


def reasons(kind: int, version: p.Version) -> st.SearchStrategy[int]:
    return st.sampled_from(sorted(REASONS[kind])) if version is p.Version.V5 else st.just(0)


def requests(version: p.Version) -> st.SearchStrategy[p.Request]:
    if version is not p.Version.V5:
        return st.builds(p.Request, filters, st.integers(0, 2))
    any_request = st.builds(
        p.Request, filters, st.integers(0, 2), st.booleans(), st.booleans(), retain_handling=st.integers(0, 2)
    )
    return any_request.filter(lambda one: not (one.no_local and one.filter.startswith("$share/")))


def connects(version: p.Version) -> st.SearchStrategy[p.Connect]:
    wills = st.builds(p.Will, names, payloads, st.integers(0, 2), st.booleans(), properties(WILL, version))
    login = st.one_of(
        st.tuples(st.none(), st.none()), st.tuples(text, st.none()), st.tuples(text, st.binary(max_size=9))
    )
    keep = st.integers(0, 65535)
    bridges = st.booleans() if version is not p.Version.V5 else st.just(False)
    drawn = st.tuples(text, st.booleans(), keep, st.none() | wills, login, properties(1, version), bridges)
    made = drawn.map(lambda d: p.Connect(d[0], version, d[1], d[2], d[3], d[4][0], d[4][1], d[5], d[6]))
    data, method = Property.AUTHENTICATION_DATA, Property.AUTHENTICATION_METHOD
    return made.filter(lambda one: data not in one.properties or method in one.properties)


def publishes(version: p.Version) -> st.SearchStrategy[p.Publish]:
    tail = properties(3, version)
    plain = st.builds(p.Publish, names, payloads, st.just(0), st.booleans(), properties=tail)
    return plain | st.builds(
        p.Publish, names, payloads, st.integers(1, 2), st.booleans(), st.booleans(), identifiers, tail
    )


def packets(version: p.Version) -> st.SearchStrategy[p.Packet]:
    """All but CONNECT, which begins a connection."""
    made = [publishes(version), st.just(p.Pingreq()), st.just(p.Pingresp())]
    for kind, sort in ((4, p.Puback), (5, p.Pubrec), (6, p.Pubrel), (7, p.Pubcomp)):
        made.append(st.builds(sort, identifiers, reasons(kind, version), properties(kind, version)))
    made.append(st.builds(p.Disconnect, reasons(14, version), properties(14, version)))
    made.append(st.builds(p.Connack, st.booleans(), reasons(2, version), properties(2, version)))
    few = st.lists(requests(version), min_size=1, max_size=4).map(tuple)
    made.append(st.builds(p.Subscribe, identifiers, few, properties(8, version)))
    codes = st.lists(st.sampled_from([0, 1, 2, 128]), min_size=1, max_size=4).map(tuple)
    made.append(st.builds(p.Suback, identifiers, codes, properties(9, version)))
    made.append(
        st.builds(p.Unsubscribe, identifiers, st.lists(filters, min_size=1).map(tuple), properties(10, version))
    )
    if version is p.Version.V5:
        made.append(st.builds(p.Auth, reasons(15, version), properties(15, version)))
        codes = st.lists(st.sampled_from([0, 0x11]), min_size=1).map(tuple)
        made.append(st.builds(p.Unsuback, identifiers, codes, properties(11, version)))
    else:
        made.append(st.builds(p.Unsuback, identifiers))
    return st.one_of(made)
