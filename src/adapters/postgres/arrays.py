"""Lists that psycopg sends as arrays in binary form, each in a few calls.

The driver's own dumper of lists looks at every element in Python. Here a list says by its
class what it holds.

The form is that of the server's ``array_send``: a head, and the elements, each after its length
in bytes. The lengths and all numbers are integers in network order.
"""

import struct
from itertools import repeat
from typing import ClassVar, Final
from uuid import UUID

import psycopg
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_EMPTY_HEAD: Final = struct.Struct("!iiI")
_HEAD: Final = struct.Struct("!iiIii")
"""Dimensions, whether there are NULLs, type of the elements; their number, the first index."""
_LENGTH: Final = struct.Struct("!i")
_NULL: Final = _LENGTH.pack(-1)
_UUID_LENGTH: Final = _LENGTH.pack(16)


class Texts(list[str | None]):
    """A ``text[]``. Members of an ``Enum`` do as well, but their hash takes its time."""


class Integers(list[int]):
    """An ``integer[]``."""


class BigIntegers(list[int]):
    """A ``bigint[]``."""


class Uuids(list[UUID]):
    """A ``uuid[]``."""


class _ArrayDumper(Dumper):
    format = Format.BINARY
    element: ClassVar[str]

    def __init__(self, cls: type, context: AdaptContext | None = None) -> None:
        super().__init__(cls, context)
        element = psycopg.adapters.types[self.element]
        self.oid, self._element_oid = element.array_oid, element.oid

    def _array(self, size: int, elements: bytes, *, has_null: bool = False) -> bytes:
        if size == 0:
            return _EMPTY_HEAD.pack(0, 0, self._element_oid)
        return _HEAD.pack(1, has_null, self._element_oid, size, 1) + elements


class _TextsDumper(_ArrayDumper):
    element = "text"

    def __init__(self, cls: type, context: AdaptContext | None = None) -> None:
        super().__init__(cls, context)
        encoding = "ascii" if self.connection is None else self.connection.info.encoding
        # As the driver does it: a database of "SQL_ASCII" takes whatever comes.
        self._encoding = "utf-8" if encoding == "ascii" else encoding

    def dump(self, obj: Texts) -> bytes:
        # Each once: most arrays repeat a few words.
        parts = {text: self._part(text) for text in set(obj)}
        packed = b"".join([parts[text] for text in obj])
        return self._array(len(obj), packed, has_null=None in parts)

    def _part(self, text: str | None) -> bytes:
        if text is None:
            return _NULL
        data = text.encode(self._encoding)
        return _LENGTH.pack(len(data)) + data


class _NumbersDumper(_ArrayDumper):
    length: ClassVar[int]
    number: ClassVar[struct.Struct]

    def dump(self, obj: list[int]) -> bytes:
        try:
            packed = b"".join(map(self.number.pack, repeat(self.length), obj))
        except struct.error as error:
            # Its words do not say whose they are.
            raise psycopg.DataError(f"cannot be an element of {self.element}[]: {error}") from error
        return self._array(len(obj), packed)


class _IntegersDumper(_NumbersDumper):
    element, length, number = "int4", 4, struct.Struct("!ii")


class _BigIntegersDumper(_NumbersDumper):
    element, length, number = "int8", 8, struct.Struct("!iq")


class _UuidsDumper(_ArrayDumper):
    element = "uuid"

    def dump(self, obj: Uuids) -> bytes:
        packed = [one.int.to_bytes(16, "big") for one in obj]
        return self._array(len(obj), _UUID_LENGTH.join([b"", *packed]))


def register(adapters: AdaptersMap) -> None:
    """Let a connection know these lists; *adapters* are its own."""
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Integers, _IntegersDumper)
    adapters.register_dumper(BigIntegers, _BigIntegersDumper)
    adapters.register_dumper(Uuids, _UuidsDumper)
