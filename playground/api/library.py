"""Where prompts are kept: archive, trash, erasure, folders and tags."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access, folders, services
from playground.api.asking import checked, person
from playground.library_serializers import (
    ConfirmInput,
    FolderMoveInput,
    FolderOutput,
    MovedFolderOutput,
    TagOutput,
)
from playground.models import Prompt
from playground.serializers import PromptOutput
from playground.services.lines import folder_path


class _Place(APIView):
    service: ClassVar[Callable[..., Prompt]]

    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        prompt = access.own_prompt_for(request.user, prompt_id)
        return Response(PromptOutput(type(self).service(prompt=prompt)).data)


def _documented(operation_id: str, description: str) -> Callable[[type[_Place]], type[_Place]]:
    call = extend_schema(operation_id=operation_id, description=description, request=None, responses=PromptOutput)
    return extend_schema_view(post=call)


@_documented("prompts_archive", "Out of the usual lists; otherwise as before. For its owner only.")
class Archive(_Place):
    service = staticmethod(services.archive_prompt)


@_documented("prompts_trash", "Gone for everybody, and erased in 30 days. For its owner only.")
class Trash(_Place):
    service = staticmethod(services.trash_prompt)


@_documented("prompts_restore", "Back into the usual lists, from the archive or the trash. For its owner only.")
class Restore(_Place):
    service = staticmethod(services.restore_prompt)


class FolderTree(APIView):
    @extend_schema(operation_id="folders_list", responses=FolderOutput(many=True))
    def get(self, request: Request) -> Response:
        """The folders of my prompts as a tree, those in the archive and the trash not counted."""
        counts = Prompt.objects.visible_to(person(request)).active().folder_counts()
        return Response({"results": folders.tree(counts), "next": None})


class FolderMove(APIView):
    @extend_schema(operation_id="folders_move", request=FolderMoveInput, responses=MovedFolderOutput)
    def post(self, request: Request) -> Response:
        """Rename or move a folder of mine with all that is in it, the archive and the trash included.

        409 `folder_exists` if there is one of that name, unless `merge` is given.
        """
        given = checked(FolderMoveInput, request)
        moved = services.move_folder(owner=person(request), **given)
        return Response({"folder": folder_path("to", given["to"]), "moved": moved})


class TagList(APIView):
    @extend_schema(operation_id="tags_list", responses=TagOutput(many=True))
    def get(self, request: Request) -> Response:
        """The tags of my prompts by name, those in the archive and the trash not counted."""
        counts = Prompt.objects.visible_to(person(request)).active().tag_counts()
        return Response({"results": [{"name": name, "count": count} for name, count in counts], "next": None})


class Erasure:
    """DELETE of a prompt, for its view."""

    @extend_schema(operation_id="prompts_erase", request=ConfirmInput, responses={204: None})
    def delete(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Erase a prompt in the trash for good: every version, draft and run, and its texts in the store."""
        prompt = access.own_prompt_for(request.user, prompt_id)
        services.erase_prompt(prompt=prompt, confirmation=checked(ConfirmInput, request)["name"])
        return Response(status=204)
