"""What goes wrong with a Redis, each fault from its beginning to its end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from redis import Redis, RedisError, ResponseError

from entrypoints.sandbox.resources import HOST
from entrypoints.sandbox.valkey_server import ValkeyServer
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import peer

PASSWORD = "hunter2"


@dataclass(slots=True)
class Site:
    """A server, the line to it, and somebody who may do anything to either."""

    server: ValkeyServer
    line: TcpProxy
    start_another: Callable[[], ValkeyServer]
    password: str = ""
    operator: Redis = field(init=False)

    def __post_init__(self) -> None:
        self.operator = peer(self._with_password(self.server.url))
        if self.password:
            with peer(self.server.url) as stranger:
                stranger.config_set("requirepass", self.password)

    @property
    def url(self) -> str:
        """Where a worker finds the server."""
        return self._with_password(self.line.url)

    def hand_over(self, successor: ValkeyServer) -> None:
        """Let the line lead to *successor* from now on, and the operator work there."""
        self.operator.close()
        self.operator = peer(successor.url)
        self.line.redirect(successor.url)

    def close(self) -> None:
        """Let the operator go home."""
        self.operator.close()

    def _with_password(self, url: str) -> str:
        return url.replace("//", f"//:{self.password}@") if self.password else url


@contextmanager
def unreachable(site: Site) -> Iterator[None]:
    site.line.refuse()
    yield
    site.line.pass_through()


@contextmanager
def killed(site: Site) -> Iterator[None]:
    site.server.kill()
    yield
    site.server.start()


@contextmanager
def blackholed(site: Site) -> Iterator[None]:
    site.line.blackhole()
    yield
    site.line.cut()
    site.line.pass_through()


@contextmanager
def frozen(site: Site) -> Iterator[None]:
    site.server.pause()
    yield
    site.server.resume()


@contextmanager
def busy_with_a_script(site: Site) -> Iterator[None]:
    site.operator.config_set("lua-time-limit", 50)
    script = threading.Thread(target=_run_for_ever, args=(site.server.url,), daemon=True)
    script.start()
    wait_until(lambda: _is_refused(site.operator.ping), what="the script runs")
    yield
    site.operator.script_kill()
    script.join()


@contextmanager
def holding_writes_back(site: Site) -> Iterator[None]:
    """As during a fail-over in good order."""
    site.operator.client_pause(10 * 60 * 1_000, all=False)
    yield
    site.operator.client_unpause()


@contextmanager
def failed_over(site: Site) -> Iterator[None]:
    """Another server is primary, with the same data, and workers still talk to the old one."""
    successor = site.start_another()
    with peer(successor.url) as promoted:
        promoted.replicaof(HOST, str(site.server.port))
        wait_until(
            lambda: promoted.info("replication").get("master_link_status") == "up",
            what="the successor has all data",
        )
        promoted.replicaof("NO", "ONE")
    site.operator.replicaof(HOST, str(successor.port))
    yield
    site.hand_over(successor)


@contextmanager
def full(site: Site) -> Iterator[None]:
    site.operator.config_set("maxmemory-policy", "noeviction")
    site.operator.config_set("maxmemory", "1")
    yield
    site.operator.config_set("maxmemory", "0")


@contextmanager
def unable_to_save(site: Site) -> Iterator[None]:
    """Its snapshot cannot take the place of the last one, so it takes no more writes."""
    in_the_way = site.server.folder / "dump.rdb"
    in_the_way.mkdir()
    site.operator.config_set("save", "3600 1")
    _save(site.operator, "err")
    yield
    in_the_way.rmdir()
    _save(site.operator, "ok")


@contextmanager
def wanting_a_password(site: Site) -> Iterator[None]:
    with with_another_password(site):
        yield


@contextmanager
def with_another_password(site: Site) -> Iterator[None]:
    site.operator.config_set("requirepass", "another")
    # Who is logged in stays so.
    site.operator.client_kill_filter(_type="normal", skipme=True)
    yield
    site.operator.config_set("requirepass", site.password)


@contextmanager
def emptied(site: Site) -> Iterator[None]:
    site.operator.flushall()
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault, and what it must and may do.

    A server may carry out later what it was asked while it was silent (*repeats*), or lose what
    is on the stream (*forgets*). Some refuse jobs and take statuses all the same.
    """

    of: Callable[[Site], AbstractContextManager[None]]
    stops_jobs: bool = True
    stops_statuses: bool = True
    repeats: bool = False
    forgets: bool = False
    password: str = ""

    @property
    def name(self) -> str:
        """In words."""
        return self.of.__name__.replace("_", " ")


UNREACHABLE = Fault(of=unreachable)
KILLED = Fault(of=killed)
BLACKHOLED = Fault(of=blackholed)
FAULTS = (
    UNREACHABLE,
    KILLED,
    BLACKHOLED,
    Fault(of=frozen, repeats=True),
    Fault(of=busy_with_a_script, repeats=True),
    Fault(of=holding_writes_back),
    # What is published there is lost without a word (docs/running.md).
    Fault(of=failed_over, stops_statuses=False),
    Fault(of=full, stops_statuses=False),
    Fault(of=unable_to_save, stops_statuses=False),
    Fault(of=wanting_a_password),
    Fault(of=with_another_password, password=PASSWORD),
    Fault(of=emptied, stops_jobs=False, stops_statuses=False, forgets=True),
)


def _run_for_ever(url: str) -> None:
    with Redis.from_url(url, socket_timeout=None) as client:
        _is_refused(lambda: client.eval("while true do end", 0))


def _is_refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except ResponseError:
        return True
    except RedisError:
        # Not yet busy enough to say so.
        return False
    return False


def _save(operator: Redis, outcome: str) -> None:
    def is_over() -> bool:
        info = operator.info("persistence")
        return not info["rdb_bgsave_in_progress"] and info["rdb_last_bgsave_status"] == outcome

    operator.bgsave()
    wait_until(is_over, what=f"saving ends: {outcome}")
