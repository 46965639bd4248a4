"""Settings: a bad one is one clear line, and no secret is ever in it."""

import traceback
from typing import get_args

import pytest
from pydantic import SecretStr

from entrypoints.settings import (
    DatabaseSettings,
    LedgerSettings,
    Settings,
    SettingsError,
    load_database_settings,
    load_ledger_settings,
    load_settings,
    unknown_variables,
)

SECRET = "hunter2"
REQUIRED = {
    "DATABASE_URL": f"postgresql://pm:{SECRET}@localhost/pm",
    "REDIS_URL": f"redis://:{SECRET}@localhost",
    "TIGERBEETLE_ADDRESSES": "127.0.0.1:3000",
    "TIGERBEETLE_CLUSTER_ID": "0",
}

# DESIGN §8 and §9, and what else has a default.
DEFAULTS = {
    "notifications_redis_url": None,
    "lanes": 2,
    "batch_size": 1_000,
    "tick_ms": 1_000,
    "first_pause_ms": 50,
    "wake_up": "auto",
    "exclusive": False,
    "give_up": "auto",
    "attempts_max": 12,
    "attempts_max_not_found": 5,
    "backoff_first_ms": 1_000,
    "backoff_max_ms": 300_000,
    "ledger_deadline_ms": 10_000,
    "connect_timeout_ms": 5_000,
    "statement_timeout_ms": 30_000,
    "psp_fee_debit_account": "revenue.{currency}",
    "psp_fee_credit_account": "nostro.{psp}.{currency}",
    "status_full": False,
    "notifications_field": "payload",
    "notifications_maxlen": 10_000_000,
    "health_host": "127.0.0.1",
    "log_format": "auto",
    "log_level": "info",
}

A_COUNT = ["0", "-1", "x", "1.5", "1e3", "ten", "9" * 5_000]
BAD = {
    "TIGERBEETLE_CLUSTER_ID": ["-1", "x", "0x10", "1_0", "1.0", "+1", "", str(2**128), "9" * 5_000],
    "TIGERBEETLE_ADDRESSES": [""],
    "DATABASE_URL": [""],
    "REDIS_URL": [""],
    "OUTBOX_LANES": [*A_COUNT, "65"],
    "OUTBOX_BATCH_SIZE": [*A_COUNT, "8001"],
    "OUTBOX_TICK_MS": A_COUNT,
    "OUTBOX_FIRST_PAUSE_MS": A_COUNT,
    "OUTBOX_WAKE_UP": ["on", "Off", "true", "0"],
    "OUTBOX_EXCLUSIVE": ["maybe", "2"],
    "OUTBOX_GRACE_MS": A_COUNT,
    "OUTBOX_GIVE_UP": ["Never", "no", "true", "0"],
    "OUTBOX_ATTEMPTS_MAX": A_COUNT,
    "OUTBOX_ATTEMPTS_MAX_NOT_FOUND": A_COUNT,
    "OUTBOX_BACKOFF_FIRST_MS": A_COUNT,
    "OUTBOX_BACKOFF_MAX_MS": A_COUNT,
    "OUTBOX_OUTAGE_BACKOFF_MAX_MS": A_COUNT,
    "OUTBOX_LEDGER_DEADLINE_MS": A_COUNT,
    "OUTBOX_LEDGER_REQUEST_EVENTS_MAX": [*A_COUNT, "8190"],
    "OUTBOX_CONNECT_TIMEOUT_MS": A_COUNT,
    "OUTBOX_STATEMENT_TIMEOUT_MS": [*A_COUNT, "999"],
    "OUTBOX_REDIS_TIMEOUT_MS": A_COUNT,
    "OUTBOX_PSP_FEE_CODE": [*A_COUNT, "65536"],
    "OUTBOX_STATUS_FULL": ["maybe", "2"],
    "OUTBOX_STATUS_QUEUE_SIZE_MAX": A_COUNT,
    "OUTBOX_NOTIFICATIONS_MAXLEN": [*A_COUNT[1:], str(2**63)],
    "OUTBOX_NOTIFICATIONS_BATCH_SIZE": [*A_COUNT, "10001"],
    "OUTBOX_HEALTH_PORT": ["-1", "x", "65536"],
    "OUTBOX_LOG_FORMAT": ["xml", "JSON"],
    "OUTBOX_LOG_LEVEL": ["loud", "INFO"],
}
BAD_CASES = [
    pytest.param(variable, value, id=f"{variable}={value[:12]}")
    for variable, values in BAD.items()
    for value in values
]


@pytest.fixture(autouse=True)
def only_what_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in REQUIRED.items():
        monkeypatch.setenv(variable, value)


def refusal() -> str:
    with pytest.raises(SettingsError) as raised:
        load_settings()
    message = str(raised.value)
    everything = "".join(traceback.format_exception(raised.value))
    assert "\n" not in message
    assert 0 < len(message) <= 1_000
    assert SECRET not in everything
    return message


def test_what_has_a_default_need_not_be_set() -> None:
    settings = load_settings()

    assert {name: getattr(settings, name) for name in DEFAULTS} == DEFAULTS


def test_what_is_required_is_taken_as_it_is() -> None:
    settings = load_settings()

    assert settings.database_url.get_secret_value() == REQUIRED["DATABASE_URL"]
    assert settings.redis_url.get_secret_value() == REQUIRED["REDIS_URL"]
    assert settings.tigerbeetle_addresses == "127.0.0.1:3000"
    assert settings.tigerbeetle_cluster_id == 0


@pytest.mark.parametrize(
    ("variable", "value", "name", "expected"),
    [
        ("OUTBOX_LANES", "1", "lanes", 1),
        ("OUTBOX_LANES", "64", "lanes", 64),
        ("OUTBOX_BATCH_SIZE", "1", "batch_size", 1),
        ("OUTBOX_BATCH_SIZE", "8000", "batch_size", 8_000),
        ("OUTBOX_TICK_MS", "1", "tick_ms", 1),
        ("OUTBOX_WAKE_UP", "off", "wake_up", "off"),
        ("OUTBOX_EXCLUSIVE", "true", "exclusive", True),
        ("OUTBOX_STATEMENT_TIMEOUT_MS", "1000", "statement_timeout_ms", 1_000),
        ("OUTBOX_GIVE_UP", "never", "give_up", "never"),
        ("OUTBOX_PSP_FEE_CODE", "65535", "psp_fee_code", 65_535),
        ("OUTBOX_STATUS_FULL", "true", "status_full", True),
        ("OUTBOX_NOTIFICATIONS_MAXLEN", "100000", "notifications_maxlen", 100_000),
        ("OUTBOX_NOTIFICATIONS_MAXLEN", "0", "notifications_maxlen", 0),
        ("OUTBOX_NOTIFICATIONS_FIELD", "job", "notifications_field", "job"),
        ("OUTBOX_HEALTH_PORT", "0", "health_port", 0),
        ("OUTBOX_LOG_FORMAT", "json", "log_format", "json"),
        ("TIGERBEETLE_CLUSTER_ID", str(2**128 - 1), "tigerbeetle_cluster_id", 2**128 - 1),
        # How a container file says "not set".
        ("OUTBOX_LANES", "", "lanes", 2),
        ("NOTIFICATIONS_REDIS_URL", "", "notifications_redis_url", None),
    ],
)
def test_a_good_value_is_taken(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, expected: object
) -> None:
    monkeypatch.setenv(variable, value)

    assert getattr(load_settings(), name) == expected


@pytest.mark.parametrize(("variable", "value"), BAD_CASES)
def test_a_bad_value_is_one_line_that_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    assert refusal().startswith(f"{variable}: ")


@pytest.mark.parametrize("variable", REQUIRED)
def test_a_missing_variable_is_named_and_no_other_is_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv(variable)

    message = refusal()

    assert message == f"{variable}: field required"


def test_every_fault_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.setenv("OUTBOX_LANES", "0")
    monkeypatch.setenv("OUTBOX_GIVE_UP", "maybe")

    message = refusal()

    assert message.count(";") == 2
    for variable in ("DATABASE_URL: ", "OUTBOX_LANES: ", "OUTBOX_GIVE_UP: "):
        assert variable in message


def test_a_bad_value_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    # It may be a password that went into the wrong variable.
    for variable in BAD.keys() - REQUIRED.keys() | {"TIGERBEETLE_CLUSTER_ID"}:
        with monkeypatch.context() as patch:
            patch.setenv(variable, SECRET)
            assert variable in refusal()


def test_no_secret_is_shown_by_settings_that_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFICATIONS_REDIS_URL", f"redis://:{SECRET}@elsewhere")
    settings = load_settings()

    for shown in (repr(settings), str(settings), str(settings.model_dump())):
        assert SECRET not in shown
    assert settings.model_dump_json().count(SECRET) == 0


def test_every_url_is_kept_as_a_secret() -> None:
    urls = {name: field for name, field in Settings.model_fields.items() if name.endswith("_url")}

    assert set(urls) == {"database_url", "redis_url", "notifications_redis_url"}
    for field in urls.values():
        assert field.annotation is SecretStr or SecretStr in get_args(field.annotation)


def test_a_command_for_the_database_alone_needs_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in REQUIRED.keys() - {"DATABASE_URL"}:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("OUTBOX_LANES", "x")

    settings = load_database_settings()

    assert type(settings) is DatabaseSettings
    assert settings.database_url.get_secret_value() == REQUIRED["DATABASE_URL"]


def test_a_command_for_the_database_alone_needs_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")

    with pytest.raises(SettingsError, match=r"^DATABASE_URL: field required$"):
        load_database_settings()


def test_a_command_that_compares_with_the_ledger_needs_no_redis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REDIS_URL")
    monkeypatch.setenv("OUTBOX_LANES", "x")
    monkeypatch.setenv("OUTBOX_PSP_FEE_CODE", "7")

    settings = load_ledger_settings()

    assert type(settings) is LedgerSettings
    assert (settings.tigerbeetle_addresses, settings.psp_fee_code) == ("127.0.0.1:3000", 7)


def test_a_variable_that_only_looks_like_ours_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unknown_variables() == []
    for variable in ("OUTBOX_LANES", "OUTBOX_TICK", "OUTBOX_BATCH_SIZES", "PM_LANES"):
        monkeypatch.setenv(variable, "1")

    assert unknown_variables() == ["OUTBOX_BATCH_SIZES", "OUTBOX_TICK"]


@pytest.mark.parametrize("variable", REQUIRED)
def test_our_prefix_before_a_name_of_pms_is_found(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(f"OUTBOX_{variable}", "1")

    assert unknown_variables() == [f"OUTBOX_{variable}"]


@pytest.mark.parametrize(
    "variable",
    [variable for variable in BAD if variable.endswith("_MS")],
)
def test_a_time_that_nobody_can_wait_for_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(10**16))

    assert variable in refusal()
