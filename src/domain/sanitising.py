"""Text of unknown origin, made fit for a column, a log line and a person's screen."""

from typing import Final

ERROR_CHARS_MAX: Final = 500


def sanitise(text: str) -> str:
    """Return *text* on one line, without NUL or control characters, within bounds.

    Lone surrogates, which no database takes, are replaced as well.
    """
    return on_one_line(text[:ERROR_CHARS_MAX])


def on_one_line(text: str) -> str:
    """Return *text* with a space for whatever cannot be printed: nothing steers a terminal."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
