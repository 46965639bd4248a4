"""What a transaction is begun with."""

import pytest

from adapters.postgres.beginning import Beginning


def test_it_is_one_statement_a_setting_after_the_begin() -> None:
    assert Beginning(statement_timeout_ms=7).message("").split("; ") == [
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "SET LOCAL lock_timeout = '5000ms'",
        "SET LOCAL statement_timeout = '7ms'",
        "SET LOCAL idle_in_transaction_session_timeout = '120000ms'",
        "SET LOCAL datestyle = 'iso'",
        "SET LOCAL timezone = 'utc'",
    ]


def test_a_reader_asks_for_no_more_than_reading() -> None:
    message = Beginning(isolation="REPEATABLE READ", is_read_only=True, compiles=False).message("")

    assert message.startswith("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ")
    assert message.endswith("; SET LOCAL jit = 'off'")


@pytest.mark.parametrize(
    "options",
    [
        "-c lock_timeout=1s",
        "-clock_timeout=1s",
        "--lock_timeout=1s",
        "--lock-timeout=1s",
        "-c LOCK_TIMEOUT=1s",
        "-c work_mem=1MB  -c  lock_timeout = 1s",
    ],
)
def test_what_the_connections_options_set_is_left_alone(options: str) -> None:
    message = Beginning().message(options)

    assert "lock_timeout" not in message
    assert "statement_timeout" in message
