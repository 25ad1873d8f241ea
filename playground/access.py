"""Reaching a prompt through the person asking: absent and forbidden are the same 404, and cost the same query."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from core.errors import NotAllowed, NotAuthenticated, NotFound
from core.prepared import Prepared
from playground.models import Branch, Comparison, FileImport, Prompt, Upload, Version
from playground.services.lines import LATEST

#: A viewer and up.
VIEW = "playground.view_prompt"
#: A commenter and up.
COMMENT = "playground.comment_prompt"
#: An editor and up: drafts, versions, branches, undo, merges, uploads; runs; labels.
CHANGE = "playground.change_prompt"
RUN = "playground.run_prompt"
LABEL = "playground.label_prompt"
#: The owner, and editors whom the owner lets share.
SHARE = "playground.share_prompt"
#: The owner: name, folder and tags, archive, trash, erasure, transfer.
OWN = "playground.own_prompt"

_THERE = Prepared(lambda prompt_id: Prompt.objects.filter(pk=prompt_id, trashed_at=None))
_VERSIONS = Version.objects.select_related("author", "parent")
_NUMBERED = Prepared(lambda prompt_id, number: _VERSIONS.filter(prompt_id=prompt_id, number=number))
_NEWEST = Prepared(lambda prompt_id: _VERSIONS.filter(prompt_id=prompt_id).recent_first())
_LABELLED = Prepared(lambda prompt_id, name: _VERSIONS.filter(prompt_id=prompt_id, labels__name=name))
_LABELLED_THERE = Prepared(
    lambda prompt_id, name: Version.objects.select_related("prompt", "author", "parent").filter(
        prompt_id=prompt_id, prompt__trashed_at=None, labels__name=name
    )
)
_NUMBERED_THERE = Prepared(
    lambda prompt_id, number: Version.objects.select_related("prompt").filter(
        prompt_id=prompt_id, prompt__trashed_at=None, number=number
    )
)
_HEADS = Prepared(lambda prompt_id, name: _VERSIONS.filter(prompt_id=prompt_id, heads__name=name))


def signed_in(user: User | AnonymousUser) -> User:
    """The person behind a request. Raises NotAuthenticated for nobody."""
    if not isinstance(user, User):
        raise NotAuthenticated
    return user


def prompt_for(user: User | AnonymousUser, prompt_id: uuid.UUID, permission: str = VIEW) -> Prompt:
    """The prompt, if this person may see it. Raises NotFound; NotAllowed only for who sees it but may not do this."""
    person = signed_in(user)
    prompt = _THERE.first(prompt_id=prompt_id)
    # An absent one is asked about like a foreign one: the same queries, so that the time tells nothing either.
    if not person.has_perm(VIEW, prompt or Prompt(pk=prompt_id)) or prompt is None:
        raise NotFound
    if permission != VIEW and not person.has_perm(permission, prompt):
        raise NotAllowed
    return prompt


def version_for(user: User | AnonymousUser, prompt_id: uuid.UUID, pointer: str) -> Version:
    """The version of a prompt that this person may see, as `prompt_for` and `version_of` find it; raises NotFound.

    A label, which programs ask for all day, costs one query for both.
    """
    if not is_pinned(pointer) and pointer != LATEST:
        found = _LABELLED_THERE.first(prompt_id=prompt_id, name=pointer)
        if _may_see(user, prompt_id, found) and found is not None:
            return found
    return version_of(prompt_for(user, prompt_id), pointer)


def prompt_and_version(
    user: User | AnonymousUser, prompt_id: uuid.UUID, number: int, permission: str
) -> tuple[Prompt, Version | None]:
    """The prompt, as `prompt_for` finds it, and its version of this number, in one query. Raises as that does."""
    found = _NUMBERED_THERE.first(prompt_id=prompt_id, number=number)
    if not _may_see(user, prompt_id, found) or found is None:
        return prompt_for(user, prompt_id, permission), None
    if permission != VIEW and not signed_in(user).has_perm(permission, found.prompt):
        raise NotAllowed
    return found.prompt, found


def _may_see(user: User | AnonymousUser, prompt_id: uuid.UUID, found: Version | None) -> bool:
    """Asked of an absent one, too: what comes of it must take as long as for one that is somebody else's."""
    return signed_in(user).has_perm(VIEW, found.prompt if found else Prompt(pk=prompt_id))


def own_prompt_for(user: User | AnonymousUser, prompt_id: uuid.UUID) -> Prompt:
    """The prompt, if it is this person's own: also one in the trash, where nobody else sees it.

    Raises NotFound; NotAllowed for who may see it but does not own it.
    """
    person = signed_in(user)
    mine = Prompt.objects.visible_to(person).filter(pk=prompt_id).first()
    if mine is None:
        prompt_for(person, prompt_id)
        raise NotAllowed("Only its owner can do this.")
    return mine


def abilities(user: User | AnonymousUser, prompt: Prompt) -> dict[str, bool]:
    """What this person may do with a prompt they see, by the words that pages use."""
    names = {"change": CHANGE, "comment": COMMENT, "run": RUN, "label": LABEL, "share": SHARE, "own": OWN}
    return {word: user.has_perm(permission, prompt) for word, permission in names.items()}


def version_of(prompt: Prompt, pointer: str | int) -> Version:
    """The version that a number, `latest`, a label or a branch stands for. Raises NotFound.

    `latest` is the newest version, computed and never stored. A label goes before a branch of the same name. Numbers
    and names cannot be mixed up: a name of digits only is refused by the database. Blanks around a name are no part of
    it here either, or what was named with one would not be found under what its maker wrote.
    """
    text = str(pointer).strip()
    if is_pinned(text):
        found = version_numbered(prompt, int(text)) if len(text) < 10 else None
    elif text == LATEST:
        found = _NEWEST.first(prompt_id=prompt.pk)
    else:
        named = {"prompt_id": prompt.pk, "name": text}
        found = _LABELLED.first(**named) or _HEADS.first(**named)
    if found is None:
        raise NotFound
    found.prompt = prompt
    return found


def version_numbered(prompt: Prompt, number: int) -> Version | None:
    found = _NUMBERED.first(prompt_id=prompt.pk, number=number)
    if found is not None:
        found.prompt = prompt
    return found


def branch_of(prompt: Prompt, name: str) -> Branch:
    """A branch by name, with its head. Raises NotFound."""
    branch = Branch.objects.select_related("head", "head__parent").filter(prompt=prompt, name=name.strip()).first()
    if branch is None:
        raise NotFound
    return branch


def upload_for(user: User | AnonymousUser, upload_id: uuid.UUID) -> Upload:
    """An upload of this person, while its prompt is still theirs to change. Raises NotFound."""
    person = signed_in(user)
    upload = Upload.objects.of(person).select_related("prompt").filter(pk=upload_id).first()
    if upload is None or not person.has_perm(CHANGE, upload.prompt):
        raise NotFound
    return upload


def file_import_for(user: User | AnonymousUser, import_id: uuid.UUID) -> FileImport:
    """An import of a file by this person. Raises NotFound."""
    found = FileImport.objects.of(signed_in(user)).select_related("prompt", "into").filter(pk=import_id).first()
    if found is None:
        raise NotFound
    return found


def comparison_for(user: User | AnonymousUser, comparison_id: uuid.UUID, permission: str = VIEW) -> Comparison:
    """A comparison of this person, while they may see its prompt. Raises NotFound; NotAllowed as `prompt_for`."""
    person = signed_in(user)
    found = Comparison.objects.visible_to(person).select_related("prompt").filter(pk=comparison_id).first()
    if found is None:
        raise NotFound
    if permission != VIEW and not person.has_perm(permission, found.prompt):
        raise NotAllowed
    return found


def is_pinned(pointer: str) -> bool:
    """Whether a pointer always means the same version (so that an answer may be kept for ever)."""
    return pointer.isascii() and pointer.isdecimal()
