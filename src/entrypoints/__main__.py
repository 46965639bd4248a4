"""``outbox-worker``, and ``python -m entrypoints``."""

import signal


def start() -> None:
    """Run the command line.

    Importing it takes a moment, in which there is nothing to clean up: Ctrl-C ends the
    process then without a traceback. Where it is ignored, for example under nohup, it stays so.
    """
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    from entrypoints.cli import main

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()


if __name__ == "__main__":
    start()
