"""The pages of who was shared with: what others share, what happened, answers to requests and offers."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.boundary import wants_json
from core.errors import NotFound
from playground.access import signed_in
from sharing import lists, notices, services
from sharing.models import AccessRequest, Notification, OwnershipTransfer


@login_required
@require_GET
def with_me(request: HttpRequest) -> HttpResponse:
    """What others share with me by name."""
    person = signed_in(request.user)
    part = lists.part_of(lists.shared_with(person), request.GET.get("cursor", ""))
    context = {"place": "prompts", "rows": part.rows, "transfers": lists.offered_to(person), **part.links()}
    return render(request, "sharing/with_me.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """What happened, newest first (GET); all of it was read (POST)."""
    person = signed_in(request.user)
    if request.method == "POST":
        services.mark_seen(person=person)
        return redirect("notifications")
    found = Notification.objects.of(person)
    part = lists.part_of(found.select_related("actor", "prompt"), request.GET.get("cursor", ""))
    context = {
        "place": "notifications",
        "rows": notices.read(person, part.rows),
        "unread": found.unseen().exists(),
        **part.links(),
    }
    return render(request, "sharing/notifications.html", context)


@login_required
@require_POST
def answer_request(request: HttpRequest, request_id: uuid.UUID) -> HttpResponse:
    """The owner gives a role, or declines (`role` empty): one click, in the notifications or on a card in a chat."""
    person = signed_in(request.user)
    asked = AccessRequest.objects.concerning(person).select_related("prompt", "account").filter(pk=request_id).first()
    if asked is None:
        raise NotFound
    role = request.POST.get("role") or None
    services.answer_request(person=person, request=asked, role=role)
    return _back(request, f"{asked.account.label} has access now." if role else "Declined.")


@login_required
@require_POST
def answer_transfer(request: HttpRequest, transfer_id: uuid.UUID) -> HttpResponse:
    """Whoever was offered a prompt takes it, or does not."""
    person = signed_in(request.user)
    offers = OwnershipTransfer.objects.concerning(person).select_related("prompt", "from_account", "to_account")
    transfer = offers.filter(pk=transfer_id).first()
    if transfer is None:
        raise NotFound
    if request.POST.get("answer") == "accept":
        prompt = services.accept_ownership(person=person, transfer=transfer)
        return _back(request, f"{prompt.name} is yours now.")
    services.decline_ownership(person=person, transfer=transfer)
    return _back(request, "Declined.")


def _back(request: HttpRequest, words: str) -> HttpResponse:
    """To where the form was; a script is told that it is done."""
    if wants_json(request):
        return HttpResponse(status=204)
    messages.success(request, words)
    return redirect("notifications")
