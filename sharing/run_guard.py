"""Who may go on following a run: `inference_client` asks by the setting RUN_GUARD and knows nothing of prompts."""

from __future__ import annotations

import random
import uuid

from sharing import bound, kept, news, policy, reading


class Guard:
    """`still` is without I/O and may be called before each frame; `ask` goes to the database."""

    def still(self, run_id: uuid.UUID) -> bool:
        """Whether a decision of the last few seconds allows it. False: ask."""
        return kept.runs.kept(run_id) is not None

    def ask(self, run_id: uuid.UUID, account_id: uuid.UUID) -> bool:
        """Raises what the database raises: no answer is not a yes."""
        news.listen()
        decision = kept.runs.ask(
            run_id, lambda standing: standing.prompt_id or run_id, lambda: reading.run_standing(run_id, account_id)
        )
        return decision is not None

    def recheck_s(self) -> float:
        """How long a quiet stream may go on before it is asked about again."""
        spread = random.random()  # noqa: S311  # so that streams do not march in step
        return policy.due_at(checked_at_s=0.0, lifetimes=bound.current(), spread=spread)


guard = Guard()
