"""The decisions that this process keeps for a few seconds, by what they are about."""

from __future__ import annotations

import uuid

from sharing.decisions import Decisions
from sharing.links import LinkStanding
from sharing.policy import Standing
from sharing.reading import RunStanding

#: By (prompt, person).
grants: Decisions[Standing] = Decisions()
#: By link.
links: Decisions[LinkStanding] = Decisions()
#: By run.
runs: Decisions[RunStanding] = Decisions()


def learn(prompt_id: uuid.UUID, acl_epoch: int) -> None:
    """Somebody's access to this prompt was taken back or narrowed."""
    for kept in (grants, links, runs):
        kept.learn(prompt_id, acl_epoch)


def forget() -> None:
    """News may have been missed."""
    for kept in (grants, links, runs):
        kept.forget()
