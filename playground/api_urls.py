from __future__ import annotations

from django.urls import path

from playground import library_urls
from playground.api import (
    comparisons,
    counts,
    diffs,
    merges,
    pointers,
    prompts,
    replies,
    run_lists,
    runs,
    snippets,
    texts,
    trees,
    uploads,
    values,
    versions,
)

PROMPT = "prompts/<uuid:prompt_id>"
VERSION = f"{PROMPT}/versions/<str:pointer>"
TEXT = f"{VERSION}/texts/<int:index>"
BRANCH = f"{PROMPT}/branches/<str:name>"
LABEL = f"{PROMPT}/labels/<str:name>"
COMPARISON = "comparisons/<uuid:comparison_id>"

urlpatterns = [
    *library_urls.urlpatterns,
    path("prompts", prompts.PromptList.as_view(), name="api-prompts"),
    path(PROMPT, prompts.PromptDetail.as_view(), name="api-prompt"),
    path(f"{PROMPT}/comparisons", comparisons.ComparisonList.as_view(), name="api-comparisons"),
    path(COMPARISON, comparisons.ComparisonDetail.as_view(), name="api-comparison"),
    path(f"{COMPARISON}/answers", comparisons.ComparisonAnswers.as_view(), name="api-comparison-answers"),
    path(f"{COMPARISON}/cancel", comparisons.ComparisonCancel.as_view(), name="api-comparison-cancel"),
    path(f"{COMPARISON}/retry", comparisons.ComparisonRetry.as_view(), name="api-comparison-retry"),
    path(f"{PROMPT}/count", counts.PromptCount.as_view(), name="api-count"),
    path(f"{PROMPT}/diff", diffs.Diff.as_view(), name="api-diff"),
    path(f"{PROMPT}/merge", merges.Merge.as_view(), name="api-merge"),
    path(f"{PROMPT}/tree", trees.Tree.as_view(), name="api-tree"),
    path(f"{PROMPT}/tree/columns", trees.TreeColumns.as_view(), name="api-tree-columns"),
    path(f"{PROMPT}/versions", versions.VersionList.as_view(), name="api-versions"),
    path(VERSION, versions.VersionDetail.as_view(), name="api-version"),
    path(f"{VERSION}/runs", runs.RunList.as_view(), name="api-version-runs"),
    path(f"{VERSION}/snippets/<str:language>", snippets.Snippet.as_view(), name="api-snippet"),
    path("runs", run_lists.RunHistory.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>/replies", replies.RunReplies.as_view(), name="api-run-replies"),
    path("runs/<uuid:run_id>/conversation", replies.RunConversation.as_view(), name="api-run-conversation"),
    path(f"{PROMPT}/tool-results", replies.ToolResultList.as_view(), name="api-tool-results"),
    path(TEXT, texts.Text.as_view(), name="api-text"),
    path(f"{TEXT}/lines", texts.TextLines.as_view(), name="api-text-lines"),
    path(f"{TEXT}/search", texts.TextSearch.as_view(), name="api-text-search"),
    path(f"{PROMPT}/values", values.PastValuesList.as_view(), name="api-past-values"),
    path(f"{PROMPT}/values/kept", values.KeptValues.as_view(), name="api-kept-values"),
    path(f"{PROMPT}/values/<uuid:run_id>", values.PastValuesDetail.as_view(), name="api-past-values-of-run"),
    path(f"{PROMPT}/uploads", uploads.UploadList.as_view(), name="api-uploads"),
    path("uploads/<uuid:upload_id>", uploads.UploadDetail.as_view(), name="api-upload"),
    path("uploads/<uuid:upload_id>/complete", uploads.UploadComplete.as_view(), name="api-upload-complete"),
    path(f"{PROMPT}/branches", pointers.BranchList.as_view(), name="api-branches"),
    path(f"{BRANCH}/move", pointers.BranchMoveView.as_view(), name="api-branch-move"),
    path(f"{BRANCH}/undo", pointers.BranchUndo.as_view(), name="api-branch-undo"),
    path(f"{BRANCH}/redo", pointers.BranchRedo.as_view(), name="api-branch-redo"),
    path(f"{PROMPT}/labels", pointers.LabelList.as_view(), name="api-labels"),
    path(LABEL, pointers.LabelDetail.as_view(), name="api-label"),
    path(f"{LABEL}/history", pointers.LabelHistory.as_view(), name="api-label-history"),
]
