"""Ask a person before something is changed."""

import sys


def is_confirmed(question: str) -> bool:
    """Ask *question* and say whether the answer is yes.

    An end of input, no input at all and an interrupt are a no. All of it goes to stderr: what
    is on stdout may be read by a program.
    """
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    try:
        answer = sys.stdin.readline() if sys.stdin is not None else ""
    except KeyboardInterrupt:
        answer = ""
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")
