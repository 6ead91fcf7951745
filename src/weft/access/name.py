"""Names of users, of their clients, of sessions, and of nodes.

MQTT knows a session by its client id, which anybody can guess. So a user's client ids are its own: the session of
`alice`, client id `phone`, is named by both, and a client id of another user is simply another session, which can
neither take hers over nor read what waits in it. The name carries its owner wherever the session goes: into the
journal, to other nodes, into the master's directory.

Rejected: an owner noted beside the session. Every place that knows sessions would have to know it too, and a claim on a
session of another node would have to be answered before anybody is disconnected.

Anonymous clients have their client id for a name. The sign between the two is one that we take in no client id.
"""

BETWEEN = "\x1f"  # unit separator; both standards let a server refuse control characters
NAME_BYTES = 65_535  # what a record of the journal has room for
USER_BYTES = 255
NODE_CHARACTERS = 255


def session_name(user: str, client: str) -> str:
    return f"{user}{BETWEEN}{client}" if user else client


def parted(session: str) -> tuple[str, str]:
    """User, empty where there is none, and client id."""
    user, found, client = session.partition(BETWEEN)
    return (user, client) if found else ("", session)


def shown(session: str) -> str:
    """A name for people to read."""
    return session.replace(BETWEEN, "/")


def is_client(client: str, user: str) -> bool:
    """Whether a session can have this client id."""
    return BETWEEN not in client and len(session_name(user, client).encode()) <= NAME_BYTES


def is_user(name: str) -> bool:
    """A name that can stand for a level of a topic, and for nothing else."""
    plain = name.isprintable() and not any(one in name for one in "/+#:")
    return plain and bool(name) and not name.startswith("$") and len(name.encode()) <= USER_BYTES


def node_problem(name: str) -> str:
    """What is to be done about a name that cannot stand in a row of a table, a line of a file, a topic and a frame."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= NODE_CHARACTERS:
        return f"give up to {NODE_CHARACTERS} characters that can be seen, without a space at either end."
    return "give one without / \\ + # and $." if any(one in name for one in "/\\+#$") else ""


def is_level(client: str) -> bool:
    """Whether a client id can be put into a pattern without making it cover more."""
    return bool(client) and not client.startswith("$") and not any(one in client for one in "/+#")
