"""The command line around the worker."""

import signal
from collections.abc import Iterator

import pytest
from dependency_injector import providers

from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    OutboxError,
    SharedSessionError,
)
from entrypoints import cli, process
from entrypoints.container import Container

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "configure_logs", lambda **_: None)
    monkeypatch.setenv("DATABASE_URL", "postgresql://worker@127.0.0.1:1/pm")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("TIGERBEETLE_ADDRESSES", "127.0.0.1:1")
    monkeypatch.setenv("TIGERBEETLE_CLUSTER_ID", "0")


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_that_comes_before_the_worker_runs_is_an_orderly_end(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def is_told_to_stop(_: Container) -> None:
        signal.raise_signal(number)
        pytest.fail("it went on")

    monkeypatch.setattr(process, "run_worker", is_told_to_stop)

    with pytest.raises(SystemExit) as ended:
        cli.run(exclusive=False)

    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("variable", "flag", "is_exclusive"),
    [("", False, False), ("", True, True), ("true", False, True), ("false", True, True)],
)
def test_exclusive_is_a_flag_and_a_setting(
    monkeypatch: pytest.MonkeyPatch, variable: str, flag: bool, is_exclusive: bool
) -> None:
    monkeypatch.setenv("OUTBOX_EXCLUSIVE", variable)
    seen: list[bool] = []
    monkeypatch.setattr(
        process, "run_worker", lambda container: seen.append(container.settings().exclusive)
    )

    cli.run(exclusive=flag)

    assert seen == [is_exclusive]


class FakeLock:
    """Implements ``ExclusiveLock`` as far as it is asked at the start."""

    def __init__(self, fault: OutboxError | None = None) -> None:
        self.fault = fault

    def check(self) -> None:
        if self.fault is not None:
            raise self.fault


class FakeWorker:
    """A worker that has nothing to do."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self) -> bool:
        self.runs += 1
        return True


def run_exclusive(monkeypatch: pytest.MonkeyPatch, lock: FakeLock, worker: FakeWorker) -> None:
    monkeypatch.setenv("OUTBOX_EXCLUSIVE", "true")
    monkeypatch.setenv("OUTBOX_HEALTH_PORT", "0")
    process.run_worker(
        Container(exclusive_lock=providers.Object(lock), worker=providers.Object(worker))
    )


@pytest.mark.parametrize(
    "fault",
    [None, DatabaseUnavailableError("away"), DatabaseMisconfiguredError("no such role")],
    ids=lambda fault: type(fault).__name__,
)
def test_an_exclusive_worker_runs_with_whatever_fault_may_be_over_some_time(
    monkeypatch: pytest.MonkeyPatch, fault: OutboxError | None
) -> None:
    worker = FakeWorker()

    run_exclusive(monkeypatch, FakeLock(fault), worker)

    assert worker.runs == 1


def test_an_exclusive_worker_without_a_lock_to_have_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = FakeWorker()

    with pytest.raises(SharedSessionError, match=r"^run --exclusive: a pooler$"):
        run_exclusive(monkeypatch, FakeLock(SharedSessionError("a pooler")), worker)

    assert worker.runs == 0
