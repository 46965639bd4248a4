"""What the server reads out of our arrays, whatever is in them; and what is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.adapt import AdaptersMap, PyFormat, Transformer
from psycopg.types.numeric import Int4, Int8

from adapters.postgres.arrays import BigIntegers, Integers, Texts, Uuids, register
from adapters.postgres.errors import translated_write_errors
from adapters.postgres.pool import build_pool, transaction
from application.errors import RowsRefusedError
from domain.intents import IntentStatus

pytestmark = pytest.mark.integration

Array = Texts | Integers | BigIntegers | Uuids

texts = st.lists(
    st.none()
    | st.sampled_from(["", "NULL", "{}", '"', "\\", "฿", "𐍈", *IntentStatus])
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
).map(Texts)
integers = st.lists(st.integers(-(2**31), 2**31 - 1)).map(Integers)
big_integers = st.lists(st.integers(-(2**63), 2**63 - 1)).map(BigIntegers)
uuids = st.lists(st.uuids() | st.sampled_from([UUID(int=0), UUID(int=2**128 - 1)])).map(Uuids)
arrays = texts | integers | big_integers | uuids

SQL_TYPES: dict[type[Array], str] = {
    Texts: "text",
    Integers: "integer",
    BigIntegers: "bigint",
    Uuids: "uuid",
}
QUERIES = {cls: f"SELECT %b::{name}[]" for cls, name in SQL_TYPES.items()}


@dataclass(frozen=True)
class Context:
    """Where a transformer looks for adapters, when there is no connection."""

    adapters: AdaptersMap
    connection: None = None


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with build_pool(database_url, size_max=1) as pool, pool.connection() as connection:
        yield connection


def bytes_of(parameter: list[Any]) -> tuple[int, bytes]:
    """Return the type and the bytes that psycopg would send for *parameter*."""
    adapters = AdaptersMap(psycopg.adapters)
    register(adapters)
    dumper = Transformer(Context(adapters)).get_dumper(parameter, PyFormat.BINARY)
    return dumper.oid, bytes(dumper.dump(parameter) or b"")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(array=arrays)
def test_the_server_reads_what_was_sent(connection: psycopg.Connection[Any], array: Array) -> None:
    [(read,)] = connection.execute(QUERIES[type(array)].encode(), [array]).fetchall()

    assert read == list(array)


@given(array=arrays.filter(lambda array: any(one is not None for one in array)))
def test_the_bytes_are_those_of_the_driver(array: Array) -> None:
    assert bytes_of(array) == bytes_of([as_the_driver_takes_it(array, one) for one in array])


def as_the_driver_takes_it(array: Array, one: object) -> object:
    """Return *one* such that the driver's own dumper of lists makes the same of it.

    It has to be told the size of numbers, and the text of a status.
    """
    match array, one:
        case Integers(), int():
            return Int4(one)
        case BigIntegers(), int():
            return Int8(one)
        case Texts(), str():
            return str(one)
        case _:
            return one


@pytest.mark.parametrize(
    "array",
    [
        Texts(["whole", "a\0b"]),
        Texts(["whole", "\ud800"]),
        Integers([1, 2**31]),
        Integers([-(2**31) - 1]),
        BigIntegers([1, 2**63]),
        BigIntegers([2**200]),
    ],
)
def test_what_no_row_can_hold_is_a_row_refused(
    connection: psycopg.Connection[Any], array: Array
) -> None:
    with pytest.raises(RowsRefusedError), translated_write_errors():
        connection.execute(QUERIES[type(array)].encode(), [array])


def test_texts_are_sent_in_the_encoding_of_the_connection(database_url: str) -> None:
    url = f"{database_url}?client_encoding=latin1"
    with build_pool(url, size_max=1) as pool, transaction(pool) as connection:
        [(length,)] = connection.execute(
            "SELECT length((%b::text[])[1])", [Texts(["é"])]
        ).fetchall()

    assert length == 1
