"""What one attempt has learned so far, and the three questions it can ask."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from domain.chains import close_chain
from domain.ledger_requests import (
    Answer,
    Ask,
    ChainAnswer,
    ChainRefused,
    CreateChain,
    FindResolutions,
    Found,
    LookUp,
    ResolutionSearch,
    SearchAnswer,
)
from domain.resolution.order import Order
from domain.transfer_builders import build_resolving_transfer
from domain.transfer_ids import fee_id
from domain.transfers import Transfer, TransferId
from domain.verdicts import RetryLater, RetryReason

BURNED_IDS_MAX: Final = 64
"""How many burned ids one attempt walks past; the next attempt goes on there."""

T = TypeVar("T")
Steps = Generator[Ask, Answer, T]


@dataclass(slots=True)
class Member:
    """One pending transfer on its way; ``generation`` picks the id that we send next."""

    pending_id: TransferId
    generation: int
    resolved: bool = False

    def transfer(self, order: Order) -> Transfer:
        """Return the transfer that resolves this member."""
        return build_resolving_transfer(
            order.intent_id, order.action, self.pending_id, generation=self.generation
        )


@dataclass(slots=True)
class Progress:
    """What this attempt has learned so far."""

    order: Order
    members: list[Member]
    fee_generation: int
    burned_ids: int = 0
    is_replay: bool = False
    resolved_elsewhere: list[Transfer] = field(default_factory=list)
    fee_found: Transfer | None = None
    has_all_fees: bool = True

    @classmethod
    def start(cls, order: Order) -> "Progress":
        """Return the progress of an attempt that has done nothing yet."""
        hint = order.generations
        if len(hint) != len(order.pending_ids) + 1 or any(number < 0 for number in hint):
            # Without a hint that fits, the ledger tells again which ids are burned.
            hint = (0,) * (len(order.pending_ids) + 1)
        return cls(
            order=order,
            members=[
                Member(pending_id=pending_id, generation=generation)
                for pending_id, generation in zip(order.pending_ids, hint[:-1], strict=True)
            ],
            fee_generation=hint[-1],
        )

    def open_members(self) -> list[Member]:
        """Return the members that still have to be sent, in their order."""
        return [member for member in self.members if not member.resolved]

    def fee_id(self) -> TransferId:
        """Return the id that the fee has, or would have."""
        return fee_id(
            self.order.intent_id, self.order.pending_ids[0], generation=self.fee_generation
        )

    def may_take_next_id(self) -> bool:
        """Count one more burned id; False when this attempt has seen enough of them."""
        self.burned_ids += 1
        return self.burned_ids < BURNED_IDS_MAX

    def retry_fee_search(self) -> RetryLater:
        """Return the verdict where a fee was not found, and might be by a longer search."""
        detail = "psp fee: the search ended early, so whether one was charged is not known"
        return self.retry(RetryReason.OUT_OF_TIME, detail)

    def retry(self, reason: RetryReason, detail: str) -> RetryLater:
        """Return the verdict that ends this attempt and remembers the burned ids."""
        burned = tuple(member.generation for member in self.members)
        return RetryLater(reason, detail, (*burned, self.fee_generation))


def create(members: Sequence[Transfer]) -> Steps[ChainAnswer]:
    """Send *members* as one closed chain."""
    answer = cast(ChainAnswer, (yield CreateChain(close_chain(members))))
    if not isinstance(answer, ChainRefused) and len(answer) != len(members):
        raise ValueError(f"{len(members)} transfers sent, {len(answer)} statuses answered")
    return answer


def look_up(progress: Progress) -> Steps[Found]:
    """Look up all our ids and what they resolve; note the fee, if it is there."""
    order = progress.order
    ours = [member.transfer(order).id for member in progress.members]
    fee = progress.fee_id()
    found = cast(Found, (yield LookUp((*ours, *order.pending_ids, fee))))
    if fee in found and found[fee].user_data_128 == order.intent_id.int:
        progress.fee_found = found[fee]
    return found


def find(search: ResolutionSearch) -> Steps[SearchAnswer]:
    """Search the ledger for what other ids than ours did."""
    return cast(SearchAnswer, (yield FindResolutions(search)))
