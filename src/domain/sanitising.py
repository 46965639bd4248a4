"""Text of unknown origin, made fit for a column, a log line and a person's screen."""

from typing import Final

ERROR_CHARS_MAX: Final = 500


def sanitise(text: str) -> str:
    """Return *text* on one line, without NUL or control characters, within bounds.

    Lone surrogates, which no database takes, are replaced as well.
    """
    return printable(text[:ERROR_CHARS_MAX]).strip()


def printable(text: str) -> str:
    """Return *text* at its full length, with a space for each character that is not printable."""
    return "".join(char if char.isprintable() else " " for char in text)
