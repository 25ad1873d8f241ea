"""Sending something from elsewhere into a chat, as a card: what it is, to whom, and words with it if any."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from accounts.models import User
from chat import page_lists, services
from chat.messages import Reference
from chat.models import Conversation, ReferenceKind
from chat.people import Found, find_people
from core.errors import DomainError, InvalidInput, NotAllowed, NotAuthenticated, NotFound, RateLimited
from core.ids import new_id

#: What a person sends; wishes for access are written by those who ask.
SENDABLE = frozenset({ReferenceKind.VERSION, ReferenceKind.RUN})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def send(request: HttpRequest, kind: str, subject: uuid.UUID) -> HttpResponse:
    """Who may see what is sent is decided where its card is drawn, each time; here nobody learns whether it exists."""
    if kind not in SENDABLE:
        raise NotFound
    if not isinstance(request.user, User):
        raise NotAuthenticated
    reference = Reference(kind=kind, id=subject)
    if request.method != "POST" or "to" not in request.POST:
        return _show(request, request.user, reference)
    try:
        conversation = _send(request, request.user, reference)
    except (InvalidInput, NotAllowed, RateLimited) as error:
        return _show(request, request.user, reference, problem=error)
    return redirect(reverse("chat-conversation", args=[conversation.pk]) + "#newest")


def _send(request: HttpRequest, person: User, reference: Reference) -> Conversation:
    given = request.POST["to"]
    where, _, pk = given.partition(":")
    if where == "conversation":
        conversation = page_lists.conversation_of(person, _as_id(pk))
    else:
        peer = User.objects.filter(pk=_as_id(pk)).first()
        conversation = services.start_conversation(person=person, peer=peer if peer is not None else person)
    services.send_message(
        sender=person,
        conversation=conversation,
        # The same page may send to several people, and to each of them once.
        client_msg_id=uuid.uuid5(_as_id(request.POST.get("key", "")), str(conversation.pk)),
        body=request.POST.get("body", ""),
        reference=reference,
    )
    return conversation


def _show(
    request: HttpRequest, person: User, reference: Reference, *, problem: DomainError | None = None
) -> HttpResponse:
    asked = request.POST.get("q", "").strip()
    found: list[Found] = []
    try:
        found = find_people(person, asked) if asked else []
    except RateLimited as error:
        problem = problem or error
    listed = page_lists.conversations_page(person)
    context: dict[str, Any] = {
        "place": "chat",
        "rows": listed.rows,
        "reference": reference,
        "is_version": reference.kind == ReferenceKind.VERSION,
        "cards": cards_address(),
        "q": asked,
        "found": found,
        "text": request.POST.get("body", ""),
        "key": new_id(),
        "problem": problem,
    }
    return render(request, "chat/send.html", context, status=problem.status if problem else 200)


def cards_address() -> str:
    """Where the fragments of cards are; the kind and the id follow. "" where nothing serves them."""
    try:
        sample = reverse("shared-card", args=["kind", uuid.UUID(int=0)])
    except NoReverseMatch:
        return ""
    return sample.removesuffix(f"kind/{uuid.UUID(int=0)}/")


def _as_id(given: str) -> uuid.UUID:
    try:
        return uuid.UUID(given)
    except ValueError as error:
        raise InvalidInput("This form lacks a part.", next_step="Reload the page, then try again.") from error
