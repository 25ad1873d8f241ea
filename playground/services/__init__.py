"""Writes on prompts: one transaction each, no network call inside it, the object returned."""

from playground.services.branches import move_branch, redo_branch, start_branch, undo_branch
from playground.services.labels import move_label, remove_label
from playground.services.prompts import create_prompt, update_prompt
from playground.services.runs import run_version
from playground.services.versions import SavedVersion, save_version

__all__ = [
    "SavedVersion",
    "create_prompt",
    "move_branch",
    "move_label",
    "redo_branch",
    "remove_label",
    "run_version",
    "save_version",
    "start_branch",
    "undo_branch",
    "update_prompt",
]
