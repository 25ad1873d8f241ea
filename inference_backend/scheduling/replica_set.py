"""The replicas of a pool: which of them could start something now, and which is best for a given work."""

import math
from collections.abc import Iterator, Mapping

from inference_backend.scheduling.budget import ReplicaBudget
from inference_backend.scheduling.work import Work
from inference_backend.tiers import Tier


class ReplicaSet:
    """`headroom`: the share that work of each tier leaves to others. Choosing is linear in the replicas with room.

    `open_to` has, for each tier, the replicas with room for anything at all of it; `open` those with any room.
    """

    def __init__(self, *, prefill_portion: int, prefix_blocks: int, headroom: Mapping[Tier, float]) -> None:
        self._prefill_portion = prefill_portion
        self._prefix_blocks = prefix_blocks
        self._budgets: dict[str, ReplicaBudget] = {}
        self._open: dict[float, dict[str, ReplicaBudget]] = {share: {} for share in (0.0, *headroom.values())}
        self.open: Mapping[str, ReplicaBudget] = self._open[0.0]
        self.open_to: Mapping[Tier, Mapping[str, ReplicaBudget]] = {
            tier: self._open[share] for tier, share in headroom.items()
        }
        self._places = dict.fromkeys(self._open, 0)
        self._held: dict[str, ReplicaBudget] = {}
        self._starts = 0

    def __iter__(self) -> Iterator[ReplicaBudget]:
        return iter(self._budgets.values())

    def get(self, name: str) -> ReplicaBudget | None:
        return self._budgets.get(name)

    def put(self, name: str, *, slots: int, kv_tokens: int | None, decode_s: float) -> None:
        """Raises ValueError for limits below 1."""
        budget = self._budgets.get(name) or ReplicaBudget(
            name,
            prefill_portion=self._prefill_portion,
            prefix_blocks=self._prefix_blocks,
            decode_s=decode_s,
            headrooms=self._open,
        )
        budget.limit(slots=slots, kv_tokens=kv_tokens)
        budget.is_draining = False
        self._budgets[name] = budget
        self._recount(budget)

    def drain(self, name: str) -> None:
        if (budget := self._budgets.get(name)) is not None:
            budget.is_draining = True
            self._recount(budget)

    def remove(self, name: str) -> ReplicaBudget | None:
        budget = self._budgets.get(name)
        if budget is not None:
            del self._budgets[name]
            budget.is_draining = True
            self._recount(budget)
        return budget

    def refresh(self, budget: ReplicaBudget) -> None:
        """To be called after each change of what it holds."""
        for headroom, budgets in self._open.items():
            if budget.is_open_to(headroom):
                budgets[budget.name] = budget
            else:
                budgets.pop(budget.name, None)

    def places(self, headroom: float) -> int:
        """Slots of all replicas that take work, less that share."""
        return self._places[headroom]

    def takes(self, work: Work) -> bool:
        """Whether there is a replica that it may start on, sooner or later."""
        if not work.avoid:
            return self._places[0.0] > 0
        return any(not budget.is_draining and name not in work.avoid for name, budget in self._budgets.items())

    def choose(self, work: Work, *, headroom: float, prefill_s: float) -> tuple[ReplicaBudget, int] | None:
        """Where its first token comes soonest, and how many tokens of its prompt must be read there.

        That is the least estimated work, less what a known prefix saves: a replica that knows the prefix wins only
        while its lead in work is smaller than the saving. `prefill_s`: seconds a prompt token.
        """
        best: ReplicaBudget | None = None
        best_rank = (math.inf, 0)
        best_uncached = uncached = work.prompt_tokens
        for budget in self._open[headroom].values():
            if work.prefix:
                uncached = budget.uncached_tokens(work)
            rank = (budget.busy_s(prefill_s) + uncached * prefill_s, budget.last_start)
            if rank < best_rank and budget.fits(work, uncached_tokens=uncached, headroom=headroom):
                best, best_rank, best_uncached = budget, rank, uncached
        return None if best is None else (best, best_uncached)

    def note_start(self, budget: ReplicaBudget) -> None:
        """Among equals the one that was not used for longest is chosen."""
        self._starts += 1
        budget.last_start = self._starts
        self.refresh(budget)

    def hold(self, work: Work, *, prefill_s: float) -> None:
        """Nothing else starts on one replica until this does: small work would fill each gap before it fits."""
        if work.id in self._held:
            return
        free = [
            budget
            for name, budget in self._budgets.items()
            if budget.held_for is None and not budget.is_draining and name not in work.avoid
        ]
        if free:
            budget = min(free, key=lambda budget: (budget.busy_s(prefill_s), budget.last_start))
            budget.held_for = work.id
            self._held[work.id] = budget

    def release(self, work_id: str) -> None:
        if self._held and (budget := self._held.pop(work_id, None)) is not None:
            budget.held_for = None

    def _recount(self, budget: ReplicaBudget) -> None:
        if budget.is_draining and budget.held_for is not None:
            self.release(budget.held_for)
        self.refresh(budget)
        for headroom in self._places:
            self._places[headroom] = sum(other.places(headroom) for other in self._budgets.values())
