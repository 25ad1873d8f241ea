from playground.models.body import AS_SAVED, Body, UnstoredBody, object_key
from playground.models.branch import DEFAULT_BRANCH, Branch, BranchMove
from playground.models.comparison import MAX_COLUMNS, MAX_REPETITIONS, MIN_COLUMNS, Comparison
from playground.models.draft import Draft
from playground.models.erasure import ErasedObjects
from playground.models.file_import import MAX_IMPORT_BYTES, MAX_JSON_IMPORT_BYTES, FileImport
from playground.models.label import Label, LabelMove
from playground.models.prompt import KEPT_IN_TRASH, MAX_NAME_LENGTH, Prompt
from playground.models.search import VersionSearch
from playground.models.staged_file import StagedFile
from playground.models.tool_result import MAX_TOOL_NAME, ToolResult
from playground.models.upload import MAX_UPLOAD_BYTES, Upload
from playground.models.variable_value import VariableValue
from playground.models.version import MAX_MESSAGE_LENGTH, Version, VersionRun

__all__ = [
    "AS_SAVED",
    "DEFAULT_BRANCH",
    "KEPT_IN_TRASH",
    "MAX_COLUMNS",
    "MAX_IMPORT_BYTES",
    "MAX_JSON_IMPORT_BYTES",
    "MAX_MESSAGE_LENGTH",
    "MAX_NAME_LENGTH",
    "MAX_REPETITIONS",
    "MAX_TOOL_NAME",
    "MAX_UPLOAD_BYTES",
    "MIN_COLUMNS",
    "Body",
    "Branch",
    "BranchMove",
    "Comparison",
    "Draft",
    "ErasedObjects",
    "FileImport",
    "Label",
    "LabelMove",
    "Prompt",
    "StagedFile",
    "ToolResult",
    "UnstoredBody",
    "Upload",
    "VariableValue",
    "Version",
    "VersionRun",
    "VersionSearch",
    "object_key",
]
