"""`weft`, and `python -m weft`. Ctrl-C while the command line is loaded ends it at once, and without a traceback."""

import signal


def main() -> None:
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else the caller ignores it, and so do we
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from weft import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
