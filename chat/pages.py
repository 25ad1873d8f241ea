"""The pages of chat. Everything here works by links and forms; scripts make it live."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from chat import page_lists, services
from chat.card_pages import cards_address
from chat.models import Conversation
from chat.people import find_people
from core.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotAuthenticated, RateLimited
from core.ids import new_id


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


@login_required
@require_GET
def conversations(request: HttpRequest) -> HttpResponse:
    """All of one's conversations."""
    return render(request, "chat/conversations.html", _side(_person(request), cursor=request.GET.get("cursor", "")))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_conversation(request: HttpRequest) -> HttpResponse:
    """Finds a person (GET), and opens the conversation with them (POST)."""
    person = _person(request)
    if request.method == "POST":
        peer = User.objects.filter(pk=_as_id(request.POST.get("peer", ""))).first()
        # Absent, blocked and switched off are answered alike: the service says so for oneself, too.
        return redirect(
            "chat-conversation",
            services.start_conversation(person=person, peer=peer if peer is not None else person).pk,
        )
    asked = request.GET.get("q", "").strip()
    context = {**_side(person), "q": asked, "found": find_people(person, asked)}
    return render(request, "chat/new.html", context)


@login_required
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Words in one's own conversations."""
    person = _person(request)
    asked = request.GET.get("q", "").strip()[:200]
    hits = page_lists.search_messages(person, asked) if asked else []
    return render(request, "chat/search.html", {**_side(person), "q": asked, "hits": hits})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def conversation(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """One conversation. `?before=` a seq shows what came earlier; a form without scripts sends by POST."""
    person = _person(request)
    opened = page_lists.conversation_of(person, conversation_id)
    if request.method == "POST":
        return _send(request, person, opened)
    return _show(request, person, opened)


def _show(
    request: HttpRequest,
    person: User,
    opened: Conversation,
    *,
    problem: DomainError | None = None,
    text: str = "",
    key: uuid.UUID | None = None,
) -> HttpResponse:
    before = _as_count(request.GET.get("before"))
    place = page_lists.place_of(person, opened)
    history = page_lists.history_page(person, opened, before=before)
    context = {
        **_side(person, chosen=opened.pk),
        "conversation": opened,
        "spot": place,
        "history": history,
        "before": before,
        "seen": history.messages[-1].seq if history.messages else 0,
        "problem": problem,
        "text": text,
        "key": key or new_id(),
        "page": {
            **page_lists.as_page(person, opened, place, history),
            "cards": cards_address(),
            "before": before,
        },
    }
    return render(request, "chat/conversation.html", context, status=problem.status if problem else 200)


def _send(request: HttpRequest, person: User, opened: Conversation) -> HttpResponse:
    text = request.POST.get("body", "")
    try:
        key = _as_id(request.POST.get("key", ""))
        services.send_message(sender=person, conversation=opened, client_msg_id=key, body=text)
    except (InvalidInput, NotAllowed, RateLimited) as error:
        return _show(request, person, opened, problem=error, text=text)
    except Conflict:
        # The form of a page from the browser's history, written anew: its key already belongs to another text.
        problem = Conflict("This was not sent yet.", kept="Your text is kept.", next_step="Send it again.")
        return _show(request, person, opened, problem=problem, text=text)
    seen = _as_count(request.POST.get("seen"))
    if seen:
        services.mark_read(person=person, conversation=opened, upto_seq=seen)
    return redirect(reverse("chat-conversation", args=[opened.pk]) + "#newest")


@login_required
@require_POST
def read(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Marks as read what the page showed; without scripts nobody else can tell."""
    person = _person(request)
    opened = page_lists.conversation_of(person, conversation_id)
    services.mark_read(person=person, conversation=opened, upto_seq=_as_count(request.POST.get("seen")) or 0)
    return redirect("chat-conversation", opened.pk)


@login_required
@require_POST
def mute(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    person = _person(request)
    opened = page_lists.conversation_of(person, conversation_id)
    muted = request.POST.get("muted") == "yes"
    services.mute_conversation(person=person, conversation=opened, muted=muted)
    messages.success(request, "Muted. New messages are counted here only." if muted else "No longer muted.")
    return redirect("chat-conversation", opened.pk)


@login_required
@require_POST
def block(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    person = _person(request)
    opened = page_lists.conversation_of(person, conversation_id)
    peer = User.objects.get(pk=opened.peer_of(person))
    if request.POST.get("blocked") == "yes":
        services.block_person(person=person, peer=peer)
        messages.success(request, f"{peer.label} is blocked: no message, typing or presence passes between you.")
    else:
        services.unblock_person(person=person, peer=peer)
        messages.success(request, f"{peer.label} is no longer blocked.")
    return redirect("chat-conversation", opened.pk)


@login_required
@require_POST
def report(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    person = _person(request)
    opened = page_lists.conversation_of(person, conversation_id)
    message_id = _as_id(request.POST.get("message", ""))
    services.report_message(person=person, message_id=message_id, reason=request.POST.get("reason", ""))
    messages.success(request, "Reported. The people who run this server will see it.")
    return redirect("chat-conversation", opened.pk)


def _side(person: User, *, cursor: str = "", chosen: uuid.UUID | None = None) -> dict[str, Any]:
    """The list beside every page of chat."""
    listed = page_lists.conversations_page(person, cursor=cursor, chosen=chosen)
    return {
        "place": "chat",
        "rows": listed.rows,
        "more": f"?cursor={listed.following}".replace("+", "%2B") if listed.following else "",
        "first": "?" if cursor else "",
    }


def _as_id(given: str) -> uuid.UUID:
    try:
        return uuid.UUID(given)
    except ValueError as error:
        raise InvalidInput("This form lacks a part.", next_step="Reload the page, then try again.") from error


def _as_count(given: str | None) -> int | None:
    if given is None or not given.isascii() or not given.isdigit() or len(given) > 18:
        return None
    return int(given)
