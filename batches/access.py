"""Reaching datasets and batches through the person asking: absent and forbidden are the same 404.

Who may run a prompt (its owner and editors) may see and write its test cases, and see its batches. Who made a batch
sees it as long as they see the prompt.
"""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from batches.models import Batch, Dataset
from core.errors import NotAllowed, NotFound
from playground.access import OWN, RUN, VIEW, signed_in
from playground.models import Prompt


def dataset_for(user: User | AnonymousUser, dataset_id: uuid.UUID) -> Dataset:
    """Raises NotFound."""
    person = signed_in(user)
    found = Dataset.objects.select_related("prompt", "maker", "rows", "file").filter(pk=dataset_id).first()
    if not person.has_perm(RUN, _prompt_of(found)) or found is None:
        raise NotFound
    return found


def batch_for(user: User | AnonymousUser, batch_id: uuid.UUID) -> Batch:
    """Raises NotFound."""
    person = signed_in(user)
    found = Batch.objects.there().select_related("prompt", "maker", "rows", "dataset").filter(pk=batch_id).first()
    mine = found is not None and found.maker_id == person.pk
    if not person.has_perm(VIEW if mine else RUN, _prompt_of(found)) or found is None:
        raise NotFound
    return found


def _prompt_of(found: Dataset | Batch | None) -> Prompt:
    """A stand-in for what is absent, so that the same is asked and the time tells nothing."""
    return found.prompt if found is not None else Prompt(pk=uuid.uuid4())


def may_control(person: User, batch: Batch) -> bool:
    """Pause, go on, retry: what is sent counts against the share, and the price, of who made the batch."""
    return batch.maker_id == person.pk and person.has_perm(RUN, batch.prompt)


def may_stop(person: User, batch: Batch) -> bool:
    """Cancel, and delete when it is over."""
    return may_control(person, batch) or person.has_perm(OWN, batch.prompt)


def controlled_batch_for(user: User | AnonymousUser, batch_id: uuid.UUID) -> Batch:
    """Raises NotFound; NotAllowed for who only sees it."""
    batch = batch_for(user, batch_id)
    if not may_control(signed_in(user), batch):
        raise NotAllowed("Only who started this batch can do this.")
    return batch


def stoppable_batch_for(user: User | AnonymousUser, batch_id: uuid.UUID) -> Batch:
    """Raises NotFound; NotAllowed for who only sees it."""
    batch = batch_for(user, batch_id)
    if not may_stop(signed_in(user), batch):
        raise NotAllowed("Only who started this batch, and the owner of the prompt, can do this.")
    return batch
