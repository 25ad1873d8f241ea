"""The calls of the library: `api_urls` takes them in."""

from __future__ import annotations

from django.urls import path

from playground.api import copies, drafts, file_imports, interchange, library

PROMPT = "prompts/<uuid:prompt_id>"

urlpatterns = [
    path("folders", library.FolderTree.as_view(), name="api-folders"),
    path("folders/move", library.FolderMove.as_view(), name="api-folders-move"),
    path("tags", library.TagList.as_view(), name="api-tags"),
    path("prompts/import", interchange.Import.as_view(), name="api-prompts-import"),
    path("prompts/import/preview", interchange.ImportPreview.as_view(), name="api-prompts-import-preview"),
    path("imports", file_imports.FileImportList.as_view(), name="api-imports"),
    path("imports/<uuid:import_id>", file_imports.FileImportDetail.as_view(), name="api-import"),
    path("imports/<uuid:import_id>/complete", file_imports.FileImportStart.as_view(), name="api-import-start"),
    path(f"{PROMPT}/export", interchange.Export.as_view(), name="api-prompt-export"),
    path(f"{PROMPT}/archive", library.Archive.as_view(), name="api-prompt-archive"),
    path(f"{PROMPT}/restore", library.Restore.as_view(), name="api-prompt-restore"),
    path(f"{PROMPT}/trash", library.Trash.as_view(), name="api-prompt-trash"),
    path(f"{PROMPT}/drafts", drafts.DraftList.as_view(), name="api-drafts"),
    path(f"{PROMPT}/drafts/<str:branch>", drafts.DraftDetail.as_view(), name="api-draft"),
    path(f"{PROMPT}/versions/<str:pointer>/fork", copies.Fork.as_view(), name="api-version-fork"),
]
