"""What a resolution is to do."""

from domain.fees import Fee
from domain.intents import Action, IntentId
from domain.transfers import TransferId
from domain.values import value


@value
class Order:
    """What to resolve: at least one pending transfer, none of them twice.

    ``fee`` is charged after a post, unless somebody else resolved a member: then one is
    only looked for. ``fee_wanted`` False (the intent is final already) does neither.
    ``fee_may_exist``: somebody has tried before, perhaps the original worker, which charges
    the fee beside a chain that fails; so it is looked for first. ``generations`` is a hint:
    how many ids of each member, then of the fee, are burned.
    """

    intent_id: IntentId
    action: Action
    pending_ids: tuple[TransferId, ...]
    fee: Fee | None
    fee_code: int
    fee_wanted: bool
    fee_may_exist: bool
    generations: tuple[int, ...]
