"""The demo itself: order, disturb, watch, count."""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
from redis import Redis
from rich.console import Console

from domain.intents import IntentStatus
from domain.invariants import IntentEvidence, check_invariants
from domain.transfers import TransferFlags
from entrypoints.demo.audience import (
    Listener,
    NotificationsService,
    StatusClient,
    job_ids_on_stream,
)
from entrypoints.demo.backdrop import Backdrop, backdrop
from entrypoints.demo.evidence import gather, longest_wait_ms, measure_delays
from entrypoints.demo.show import Figures, Stage, show_figures, show_invariants
from entrypoints.demo.wallet import NOSTRO, DemoWallet
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings

ORDERS_AT_ONCE: Final = 20
OUTAGE_S: Final = 3.0
REST_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.1
_FIELD: Final[str] = Settings.model_fields["notifications_field"].default


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    intents: int
    seed: int
    with_faults: bool
    keep: bool


def run_demo(console: Console, options: Options) -> bool:
    """Play the whole demo; return whether every invariant holds and the money adds up.

    Nothing is left behind, however it ends. Raises ``ServerFailedError`` where a server
    cannot be had.
    """
    with backdrop(console.print) as scene:
        holds = _Play(console, scene, options).play()
        if options.keep:
            _keep(console, scene)
    return holds


class _Play:
    def __init__(self, console: Console, scene: Backdrop, options: Options) -> None:
        self._console = console
        self._scene = scene
        self._options = options
        self._connection = psycopg.connect(scene.database_url, autocommit=True)
        self._wallet = DemoWallet(
            connection=self._connection,
            ledger=scene.ledger,
            random=random.Random(options.seed),
            now_ms=lambda: time.time_ns() // 1_000_000,
        )
        self._client = StatusClient(Redis.from_url(scene.valkey.url))
        self._service = NotificationsService(
            Redis.from_url(scene.valkey.url), stream=NOTIFICATIONS_STREAM, field=_FIELD
        )
        self._stage = Stage(console, intents=options.intents)
        # The events that came after bad ones, and before anything else went wrong.
        self._behind_bad = (0, 0)

    def play(self) -> bool:
        """Order, disturb and wait for rest; then count."""
        with closing(self._connection), self._stage, self._listening():
            self._wallet.open(self._scene.open_accounts)
            self._scene.worker.start()
            self._stage.say(f"worker started, /readyz on {self._scene.worker.address}")
            self._order_all()
            self._come_to_rest()
            self._scene.worker.stop()
        with psycopg.connect(self._scene.database_url, autocommit=True) as connection:
            return self._count(connection)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        listeners = [
            Listener("client", self._client.listen),
            Listener("notifications-service", self._service.listen),
        ]
        for listener in listeners:
            listener.start()
        try:
            yield
        finally:
            for listener in listeners:
                listener.stop()

    def _order_all(self) -> None:
        faults = iter(self._faults())
        next_fault = next(faults, None)
        ordered = 0
        while ordered < self._options.intents:
            count = min(ORDERS_AT_ONCE, self._options.intents - ordered)
            self._wallet.authorize(count)
            ordered += count
            self._show(ordered)
            if next_fault is not None and ordered >= next_fault[0] * self._options.intents / 100:
                next_fault[1]()
                next_fault = next(faults, None)

    def _faults(self) -> Sequence[tuple[int, Callable[[], None]]]:
        """Return what is to go wrong, and after which share (in percent) of the orders."""
        if not self._options.with_faults:
            return ()
        return (
            (20, self._poison),
            (40, self._take_ledger_away),
            (60, self._take_redis_away),
            (80, self._kill_worker),
        )

    def _poison(self) -> None:
        count = self._wallet.poison()
        self._behind_bad = (self._last_event_id(), 0)
        self._stage.say(f"[yellow]fault:[/] {count} events that cannot be carried out")

    def _take_ledger_away(self) -> None:
        self._behind_bad = (self._behind_bad[0], self._last_event_id())
        self._wait_for(self._behind_bad[1])
        self._stage.say(f"[yellow]fault:[/] the ledger answers nothing for {OUTAGE_S:.0f} s")
        self._scene.pause_ledger()
        time.sleep(OUTAGE_S)
        self._scene.resume_ledger()
        self._stage.say("[green]over:[/] the ledger answers again")

    def _take_redis_away(self) -> None:
        self._stage.say(f"[yellow]fault:[/] Redis is stopped for {OUTAGE_S:.0f} s")
        self._scene.valkey.stop()
        time.sleep(OUTAGE_S)
        self._scene.valkey.start()
        self._stage.say("[green]over:[/] Redis is back")

    def _kill_worker(self) -> None:
        self._stage.say("[yellow]fault:[/] the worker is killed (SIGKILL) and started again")
        self._scene.worker.kill()
        self._scene.worker.start()
        self._stage.say("[green]over:[/] a new worker goes on")

    def _last_event_id(self) -> int:
        [(last_id,)] = self._connection.execute("SELECT max(id) FROM pm.outbox_event").fetchall()
        return int(last_id)

    def _wait_for(self, event_id: int) -> None:
        """Wait until all events up to *event_id* that may still be processed are."""
        waiting = (
            "SELECT count(*) FROM pm.outbox_event"
            " WHERE status = 'pending' AND id <= %s AND retry_count = 0"
        )
        deadline = time.monotonic() + REST_TIMEOUT_S
        while time.monotonic() < deadline:
            [(count,)] = self._connection.execute(waiting, [event_id]).fetchall()
            if count == 0:
                return
            time.sleep(_POLL_S)

    def _come_to_rest(self) -> None:
        deadline = time.monotonic() + REST_TIMEOUT_S
        while self._show(self._options.intents) and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _show(self, ordered: int) -> int:
        """Move the bars; return how many events and push jobs are still under way."""
        [(pending, finished, jobs)] = self._connection.execute(
            "SELECT count(*) FILTER (WHERE status = 'pending'),"
            "       count(*) FILTER (WHERE status <> 'pending'),"
            "       (SELECT count(*) FROM pm.notification_outbox)"
            " FROM pm.outbox_event"
        ).fetchall()
        self._stage.show(ordered=ordered, finished=min(finished, self._options.intents))
        return int(pending) + int(jobs)

    def _count(self, connection: psycopg.Connection) -> bool:
        evidence = gather(
            connection,
            self._scene.ledger,
            self._wallet.intents,
            job_ids=job_ids_on_stream(
                Redis.from_url(self._scene.valkey.url), stream=NOTIFICATIONS_STREAM, field=_FIELD
            ),
            fee_code=Settings.model_fields["psp_fee_code"].default,
            fee_account=NOSTRO,
        )
        figures = self._figures(connection, evidence)
        after_id, before_id = self._behind_bad
        invariants = check_invariants(
            evidence,
            jobs_exactly_once=not self._options.with_faults,
            longest_wait_behind_bad_ms=longest_wait_ms(
                connection, after_id=after_id, before_id=before_id
            ),
        )
        show_figures(self._console, figures)
        show_invariants(self._console, invariants)
        holds = figures.money_adds_up and all(one.holds for one in invariants)
        self._console.print(
            "[bold green]Every invariant holds, and the money adds up.[/]"
            if holds
            else "[bold red]Something is broken: see above.[/]"
        )
        return holds

    def _figures(
        self, connection: psycopg.Connection, evidence: Sequence[IntentEvidence]
    ) -> Figures:
        sums = dict.fromkeys(IntentStatus, 0) | dict(
            connection.execute(
                "SELECT status, sum(amount_satang)::bigint FROM pm.intent GROUP BY status"
            ).fetchall()
        )
        [(fees_satang,)] = connection.execute(
            "SELECT coalesce(sum(amount_satang), 0)::bigint FROM pm.tx_history"
            " WHERE kind = 'PSP_FEE'"
        ).fetchall()
        by_status = {
            status: [one for one in evidence if one.status == status] for status in IntentStatus
        }
        settled = by_status[IntentStatus.SETTLED]
        in_review = by_status[IntentStatus.MANUAL_REVIEW]
        return Figures(
            ledger=self._scene.ledger_name,
            settled=len(settled),
            failed=len(by_status[IntentStatus.FAILED]),
            in_review=len(in_review),
            delays=measure_delays(connection),
            status_messages=self._client.messages,
            jobs_received=len(self._service.job_ids),
            jobs_expected=sum(len(one.jobs_expected) for one in evidence),
            settled_satang=sums[IntentStatus.SETTLED],
            posted_satang=sum(one.posted_satang for one in settled),
            fees_written_satang=fees_satang,
            fees_charged_satang=sum(fee.amount for one in settled for fee in one.fees),
            in_review_satang=sums[IntentStatus.MANUAL_REVIEW],
            held_satang=sum(map(_held_satang, in_review)),
        )


def _held_satang(one: IntentEvidence) -> int:
    """What is still frozen, or was posted, of an intent that a person must decide."""
    voided = {
        each.pending_id
        for each in one.resolvers
        if TransferFlags.VOID_PENDING_TRANSFER in each.flags
    }
    return sum(pending.amount for pending in one.pendings if pending.id not in voided)


def _keep(console: Console, scene: Backdrop) -> None:
    console.print("\nThe servers stay up until Ctrl-C. In another shell:\n")
    for name, value in scene.environment.items():
        console.print(f"export {name}='{value}'", highlight=False, soft_wrap=True)
    for _ in itertools.count():
        time.sleep(1)
