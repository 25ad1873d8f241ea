"""Writes on prompts: one transaction each, no network call inside it, the object returned."""

from playground.services.addresses import Addresses, addresses_of
from playground.services.beginnings import fork_prompt, import_single
from playground.services.branches import move_branch, redo_branch, start_branch, undo_branch
from playground.services.comparisons import cancel_comparison, retry_comparison, start_comparison
from playground.services.drafts import drop_draft, keep_draft
from playground.services.exports import export_prompt
from playground.services.file_imports import (
    AnnouncedImport,
    announce_import,
    cancel_import,
    hand_over,
    start_import,
)
from playground.services.folders import move_folder
from playground.services.imports import import_tree
from playground.services.labels import move_label, remove_label
from playground.services.library import archive_prompt, erase_prompt, restore_prompt, trash_prompt
from playground.services.prompts import create_prompt, update_prompt
from playground.services.replies import reply_to_run
from playground.services.runs import run_version
from playground.services.uploads import StartedUpload, cancel_upload, complete_upload, start_upload
from playground.services.values import keep_values
from playground.services.versions import SavedVersion, save_version

__all__ = [
    "Addresses",
    "AnnouncedImport",
    "SavedVersion",
    "StartedUpload",
    "addresses_of",
    "announce_import",
    "archive_prompt",
    "cancel_comparison",
    "cancel_import",
    "cancel_upload",
    "complete_upload",
    "create_prompt",
    "drop_draft",
    "erase_prompt",
    "export_prompt",
    "fork_prompt",
    "hand_over",
    "import_single",
    "import_tree",
    "keep_draft",
    "keep_values",
    "move_branch",
    "move_folder",
    "move_label",
    "redo_branch",
    "remove_label",
    "reply_to_run",
    "restore_prompt",
    "retry_comparison",
    "run_version",
    "save_version",
    "start_branch",
    "start_comparison",
    "start_import",
    "start_upload",
    "trash_prompt",
    "undo_branch",
    "update_prompt",
]
