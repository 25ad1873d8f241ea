"""The texts behind a link: large ones in windows, as the workbench reads them, and the version as a call."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from core.errors import NotFound
from inference_client import catalogue
from playground import freezing, snippets, wire
from playground.text_answers import NOT_KEPT, AskedText, Search, asked_text, lines_of, search_in, send
from sharing import access
from sharing.link_pages import of_a_link


def _asked(request: HttpRequest, link_id: uuid.UUID, number: int, index: int) -> AskedText:
    """Raises NotFound: also for another version, unless the link shows the history behind the one it opens."""
    version = access.opened_link(request, link_id).numbered(number)
    return asked_text(version, index, cache=NOT_KEPT)


@require_safe
@of_a_link
def text(request: HttpRequest, link_id: uuid.UUID, number: int, index: int) -> HttpResponse:
    return send(request, _asked(request, link_id, number, index))


@require_safe
@of_a_link
def lines(request: HttpRequest, link_id: uuid.UUID, number: int, index: int) -> HttpResponse:
    return JsonResponse(lines_of(_asked(request, link_id, number, index)))


@require_safe
@of_a_link
def search(request: HttpRequest, link_id: uuid.UUID, number: int, index: int) -> HttpResponse:
    asked = _asked(request, link_id, number, index)
    return JsonResponse(search_in(asked, Search.read(request.GET)))


@require_safe
@of_a_link
def snippet(request: HttpRequest, link_id: uuid.UUID, number: int, language: str) -> HttpResponse:
    """The version as a call from one's own code; variables stay as `{{name}}`. No key is in it."""
    version = access.opened_link(request, link_id).numbered(number)
    render = snippets.LANGUAGES.get(language)
    if render is None:
        raise NotFound
    spec = freezing.thaw(version)
    body = wire.build(spec, wire.complete_values(spec, {}))
    address = catalogue.address_of(None, str(body["model"]))
    call = render(body, base_url=address, api_version=wire.api_version(spec))
    return HttpResponse(call, content_type="text/plain; charset=utf-8")
