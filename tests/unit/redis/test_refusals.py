"""What a server may answer instead of an answer, played by a script."""

import socket
import threading
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pytest
from redis import Connection

from adapters.redis.connection import build_client
from adapters.redis.pipeline import PIPELINE_LENGTH_MAX
from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from application.errors import RedisUnavailableError
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.notifier import jobs, keys
from tests.contracts.status_publisher import a_message

ADDED = b"+1-1"
REFUSALS = [
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Errors writing to the AOF file: No space left on device",
    "LOADING Valkey is loading the dataset in memory",
    "BUSY Valkey is busy running a script.",
    "NOREPLICAS Not enough good replicas to write.",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "MOVED 3999 127.0.0.1:6381",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "NOAUTH Authentication required.",
    "NOPERM User worker has no permissions to run the 'xadd' command",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "ERR max number of clients reached",
    "WHATEVER a code of a server to come",
]


class ScriptedServer:
    """Answers each PUBLISH and XADD with the next line of its script, and OK to all else.

    After the last line it answers ``ADDED``. ``commands`` is what it was sent.
    """

    def __init__(self) -> None:
        self.script: list[bytes] = []
        self.commands: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Return when every thread has ended; clients must be closed before."""
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as requests:
            try:
                while command := _read_command(requests):
                    connection.sendall(self._answer(command) + b"\r\n")
            except OSError:
                return

    def _answer(self, command: Sequence[bytes]) -> bytes:
        if command[0] not in (b"PUBLISH", b"XADD"):
            return b"+OK"
        self.commands.append(command[0])
        return self.script.pop(0) if self.script else ADDED


def _read_command(requests: BinaryIO) -> list[bytes]:
    header = requests.readline()
    if not header:
        return []
    words = []
    for _ in range(int(header[1:])):
        length = int(requests.readline()[1:])
        words.append(requests.read(length + 2)[:-2])
    return words


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@pytest.fixture
def notifier(server: ScriptedServer) -> Iterator[RedisStreamNotifier]:
    with build_client(
        server.url,
        setting="REDIS_URL",
        client_name="pm-outbox",
        connect_timeout_s=10,
        socket_timeout_s=10,
    ) as client:
        yield RedisStreamNotifier(client, stream="s", field="f", maxlen=None)


@pytest.fixture
def publisher(server: ScriptedServer) -> Iterator[RedisStatusPublisher]:
    with build_client(
        server.url,
        setting="REDIS_URL",
        client_name="pm-outbox",
        connect_timeout_s=10,
        socket_timeout_s=10,
    ) as client:
        yield RedisStatusPublisher(client, full_message=False)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_every_refusal_of_a_job_is_an_outage_in_the_servers_words(
    refusal: str, server: ScriptedServer, notifier: RedisStreamNotifier
) -> None:
    server.script = [f"-{refusal}".encode()]

    with pytest.raises(RedisUnavailableError) as caught:
        notifier.deliver(jobs(1))

    assert str(caught.value).endswith(refusal)
    assert caught.value.__cause__ is not None
    assert notifier.deliver(jobs(1)) == keys(1)
    assert server.commands == [b"XADD"] * 2


@pytest.mark.parametrize("refusal", REFUSALS)
def test_every_refusal_of_a_status_is_an_outage_in_the_servers_words(
    refusal: str, server: ScriptedServer, publisher: RedisStatusPublisher
) -> None:
    server.script = [f"-{refusal}".encode()]

    with pytest.raises(RedisUnavailableError) as caught:
        publisher.publish([a_message(1)])

    assert str(caught.value).endswith(refusal)
    publisher.publish([a_message(1)])
    assert server.commands == [b"PUBLISH"] * 2


@pytest.mark.parametrize("nonsense", [b"HTTP/1.1 400 Bad Request", b"\x15\x03\x01", b""])
def test_a_server_that_is_no_redis_is_an_outage(
    nonsense: bytes, server: ScriptedServer, notifier: RedisStreamNotifier
) -> None:
    server.script = [nonsense]

    with pytest.raises(RedisUnavailableError):
        notifier.deliver(jobs(1))

    assert notifier.deliver(jobs(2)) == keys(2)


def test_the_jobs_around_a_refused_one_are_confirmed(
    server: ScriptedServer, notifier: RedisStreamNotifier
) -> None:
    server.script = [ADDED, b"-OOM full", ADDED]

    assert notifier.deliver(jobs(1, 2, 3)) == keys(1, 3)


def test_answers_that_nobody_waited_for_are_not_taken_for_those_to_later_jobs(
    server: ScriptedServer, notifier: RedisStreamNotifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    notifier.deliver(jobs(1))
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "read_response", interrupt)
        with pytest.raises(KeyboardInterrupt):
            notifier.deliver(jobs(2))
    wait_until(lambda: len(server.commands) == 2, what="the second job is on the stream")
    server.script = [b"-OOM full"]
    # As it is while the answer is still on its way.
    monkeypatch.setattr(Connection, "can_read", lambda *_: False)

    with pytest.raises(RedisUnavailableError, match="OOM"):
        notifier.deliver(jobs(3))


def test_a_refusal_shows_nothing_of_the_job(
    server: ScriptedServer, notifier: RedisStreamNotifier
) -> None:
    server.script = [b"-OOM full"]

    with pytest.raises(RedisUnavailableError) as caught:
        notifier.deliver(jobs(1))

    assert "฿" not in f"{caught.value} {caught.value.__cause__}"


def test_after_a_refusal_nothing_more_is_sent(
    server: ScriptedServer, notifier: RedisStreamNotifier, publisher: RedisStatusPublisher
) -> None:
    server.script = [b"-OOM full"] * PIPELINE_LENGTH_MAX
    with pytest.raises(RedisUnavailableError):
        notifier.deliver(jobs(*range(3 * PIPELINE_LENGTH_MAX)))
    assert len(server.commands) == PIPELINE_LENGTH_MAX

    server.script = [b"-NOPERM no"]
    with pytest.raises(RedisUnavailableError):
        publisher.publish([a_message(number) for number in range(3 * PIPELINE_LENGTH_MAX)])
    assert len(server.commands) == 2 * PIPELINE_LENGTH_MAX
