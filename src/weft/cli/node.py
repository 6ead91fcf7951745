"""weft node"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from weft.cli import options as o

EXAMPLE = "weft node --listen 127.0.0.1:1883 --data node-data"


def _limit(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="Limits", show_default=False)


def node(
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SCHEME://]HOST:PORT",
            help="Where clients connect; mqtt://, mqtts://, ws:// or wss://. May be given more than once.",
            show_default="127.0.0.1:1883",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder that keeps sessions and messages.", show_default=False)
    ] = None,
    sync: Annotated[
        Literal["disk", "process", "none"] | None,
        typer.Option(
            metavar="disk|process|none",
            help="What an acknowledgement outlives: the loss of power, the end of the process, or nothing.",
            show_default="disk",
        ),
    ] = None,
    acknowledge: Annotated[
        Literal["disk", "tree"] | None,
        typer.Option(
            metavar="disk|tree",
            help="In a network, QoS 1 and 2: when it is on this node's disk, or when all nodes that want it have it.",
            show_default="disk",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML file with these options.", show_default=False)
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Join the network of this master.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In that network. Default: host and port.", show_default=False),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Where other nodes connect. Default: any port of this host.", show_default=False
        ),
    ] = None,
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="What others are told instead, behind a NAT.", show_default=False),
    ] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Port of /metrics and /health.", show_default=False)
    ] = None,
    http_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name that web pages, Prometheus and others may call this host by, besides its addresses. May be "
            "given more than once.",
            show_default=False,
        ),
    ] = None,
    websocket_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Web pages that may be clients, https://HOST or * for all. May be given more than once.",
            show_default=False,
        ),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="PEM, for TLS.", show_default=False)] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="PEM, for TLS.", show_default=False)] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Users and passwords: `weft user add`.", rich_help_panel="Clients", show_default=False
        ),
    ] = None,
    rights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Who may publish and subscribe where.", rich_help_panel="Clients", show_default=False
        ),
    ] = None,
    token_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Public key (PEM) or secret of tokens (JWT) that clients give for a password.",
            rich_help_panel="Clients",
            show_default=False,
        ),
    ] = None,
    token_audience: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Audience that tokens must name.", rich_help_panel="Clients", show_default=False
        ),
    ] = None,
    client_authority: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="PEM; a client that shows a certificate of it is the user that it names.",
            rich_help_panel="Clients",
            show_default=False,
        ),
    ] = None,
    anonymous: Annotated[
        Literal["never", "loopback", "anywhere"] | None,
        typer.Option(
            metavar="never|loopback|anywhere",
            help="Which listeners take clients that do not say who they are.",
            rich_help_panel="Clients",
            show_default="loopback",
        ),
    ] = None,
    allow_anonymous: Annotated[
        bool | None,
        typer.Option(
            "--allow-anonymous",
            help="The same as --anonymous anywhere.",
            rich_help_panel="Clients",
            show_default=False,
        ),
    ] = None,
    allow_plaintext: Annotated[
        bool | None,
        typer.Option(
            "--allow-plaintext",
            help="Speak with other machines without TLS.",
            rich_help_panel="Clients",
            show_default=False,
        ),
    ] = None,
    credentials: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="What proves which node this is: `weft ca node`. Default: in DATA.", show_default=False
        ),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Get them from the master, once: `weft ca token`.", show_default=False),
    ] = None,
    json_logs: Annotated[bool | None, typer.Option("--json-logs", help="Log JSON.", show_default=False)] = None,
    log_level: o.LogLevel = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", help="Log nothing.", show_default=False)] = None,
    leaving: Annotated[
        float | None,
        _limit("Seconds that a node which ends waits until others have what it owes them. Default: 3."),
    ] = None,
    connections: Annotated[int | None, _limit("Connections at a time.")] = None,
    address_connections: Annotated[int | None, _limit("Those from one address.")] = None,
    connect_rate: Annotated[float | None, _limit("Attempts to connect a second, from one address.")] = None,
    connect_burst: Annotated[int | None, _limit("Those at once.")] = None,
    failures: Annotated[int | None, _limit("Failed log-ins from one address without a pause.")] = None,
    longest_pause: Annotated[float | None, _limit("Seconds that it has to wait after many.")] = None,
    password_checks: Annotated[int | None, _limit("Passwords that wait to be checked.")] = None,
    connect_timeout: Annotated[float | None, _limit("Seconds until CONNECT must have come.")] = None,
    packet_bytes: Annotated[int | None, _limit("Bytes of a packet.")] = None,
    properties: Annotated[int | None, _limit("User properties of a packet (MQTT 5).")] = None,
    message_bytes: Annotated[int | None, _limit("Bytes of a payload.")] = None,
    maximum_qos: Annotated[int | None, _limit("Highest QoS of publications and subscriptions.")] = None,
    receive_maximum: Annotated[int | None, _limit("Unreleased publications of QoS 2 from a client (MQTT 5).")] = None,
    inflight: Annotated[int | None, _limit("Unacknowledged publications to a client.")] = None,
    queue_messages: Annotated[int | None, _limit("Publications waiting in a session.")] = None,
    queue_bytes: Annotated[int | None, _limit("Their bytes, with those of its will.")] = None,
    topic_levels: Annotated[int | None, _limit("Levels of a topic.")] = None,
    subscriptions: Annotated[int | None, _limit("Subscriptions of a session, and filters of a packet.")] = None,
    sessions: Annotated[int | None, _limit("Sessions that are kept when their clients are away.")] = None,
    user_sessions: Annotated[int | None, _limit("Those of one user.")] = None,
    retained_messages: Annotated[int | None, _limit("Retained messages; 0 is none.")] = None,
    topic_aliases: Annotated[int | None, _limit("Topic aliases of a client (MQTT 5).")] = None,
    keep_alive: Annotated[int | None, _limit("Longest keep-alive in seconds (MQTT 5); 0 is any.")] = None,
    session_expiry: Annotated[int | None, _limit("Seconds that a session is kept at most.")] = None,
    read_ahead: Annotated[int | None, _limit("Bytes read of a client whose publications wait.")] = None,
    patience: Annotated[float | None, _limit("Seconds that publishers wait for a slow receiver.")] = None,
    cached_names: Annotated[int | None, _limit("Topics whose receivers are remembered.")] = None,
    sys_interval: Annotated[float | None, _limit("Seconds between updates of $SYS; 0 is none.")] = None,
) -> None:
    """Run a broker for MQTT 3.1, 3.1.1 and 5, alone or as a node of a network.

    It prints `ready` when clients can connect; Ctrl-C ends it.
    """
    given = {name: value for name, value in locals().items() if name != "config"}
    from weft import __version__, ending
    from weft.cli.output import announce
    from weft.live.node import run
    from weft.live.settings import read_settings

    settings = read_settings(config, given)
    ending.release()  # a node ends in order, by its event loop
    run(settings, lambda addresses: announce(f"ready {' '.join(map(str, addresses))}"), __version__)
