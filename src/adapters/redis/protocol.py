"""Commands as the server reads them (RESP): the number of words, then each behind its length.

By hand, as redis-py takes several times as long to pack a job. What stays the same from one
command to the next is packed once, as its opening.
"""


def opening(*words: str, more: int) -> bytes:
    """Return a command that begins with *words*, and to which *more* are to be added."""
    return b"*%d\r\n" % (len(words) + more) + b"".join(word(text.encode()) for text in words)


def word(text: bytes) -> bytes:
    """Return one word of a command; it may hold any bytes."""
    return b"$%d\r\n%b\r\n" % (len(text), text)
