"""A link as a decision: whether it opens something now, and what."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

from django.utils import timezone

from core.errors import NotFound
from playground.models import Branch, Label, Version
from sharing.models import ShareLink
from sharing.models.link import ShareLinkQuerySet


@dataclass(frozen=True, kw_only=True)
class LinkStanding:
    """A live link, its prompt and the version it opens, as they were when the database was asked. Not to be changed."""

    link: ShareLink
    version: Version
    acl_epoch: int
    seal: str


def seal_of(link: ShareLink) -> str:
    """What a visit is tied to besides the link: another token or another password ends all visits that came before."""
    return hashlib.sha256(bytes(link.token_hash) + link.password.encode()).hexdigest()[:32]


def standing_of(link_id: uuid.UUID) -> LinkStanding | None:
    """None for a link that opens nothing now. The epoch is read before the version, so it is never the newer one."""
    link = _live().filter(pk=link_id).first()
    return _opened(link) if link else None


def standing_by_token(token_hash: bytes) -> LinkStanding | None:
    link = _live().filter(token_hash=token_hash).first()
    return _opened(link) if link else None


def _live() -> ShareLinkQuerySet:
    return ShareLink.objects.live(timezone.now()).select_related("prompt", "prompt__owner", "created_by")


def _opened(link: ShareLink) -> LinkStanding | None:
    try:
        version = version_of(link)
    except NotFound:
        return None
    return LinkStanding(link=link, version=version, acl_epoch=link.prompt.acl_epoch, seal=seal_of(link))


def version_of(link: ShareLink) -> Version:
    """What the link opens at this moment. Raises NotFound if its branch or label is gone."""
    versions = Version.objects.select_related("author", "parent", "prompt").filter(prompt=link.prompt_id)
    if link.target_version_id is not None:
        found = versions.filter(pk=link.target_version_id)
    elif link.follows_branch:
        found = versions.filter(
            pk__in=Branch.objects.filter(prompt=link.prompt_id, name=link.follows_branch).values("head_id")
        )
    else:
        found = versions.filter(
            pk__in=Label.objects.filter(prompt=link.prompt_id, name=link.follows_label).values("version_id")
        )
    version = found.first()
    if version is None:
        raise NotFound
    return version
