"""Ask a person before something is changed."""

from typing import TextIO


def is_confirmed(question: str, *, answers: TextIO | None, output: TextIO) -> bool:
    """Ask *question* and say whether the answer is yes.

    An end of input, no input at all and an interrupt are a no.
    """
    output.write(f"{question} [y/N] ")
    output.flush()
    try:
        answer = answers.readline() if answers is not None else ""
    except KeyboardInterrupt:
        answer = ""
    if not answer.endswith("\n"):
        output.write("\n")
    return answer.strip().lower() in ("y", "yes")
