"""The command line around the worker."""

import signal
from collections.abc import Iterator

import pytest

from entrypoints import cli
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
    monkeypatch.setattr(cli, "configure_logs", lambda **_: None)
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

    monkeypatch.setattr(cli, "run_worker", is_told_to_stop)

    with pytest.raises(SystemExit) as ended:
        cli.run()

    assert ended.value.code == 0
