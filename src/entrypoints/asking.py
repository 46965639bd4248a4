"""Ask a person before something is changed."""

from typing import TextIO


def is_confirmed(question: str, *, answers: TextIO | None, output: TextIO) -> bool:
    """Ask *question* and say whether the answer is yes; an end of input is a no."""
    output.write(f"{question} [y/N] ")
    output.flush()
    answer = answers.readline() if answers is not None else ""
    if not answer.endswith("\n"):
        output.write("\n")
    return answer.strip().lower() in ("y", "yes")
