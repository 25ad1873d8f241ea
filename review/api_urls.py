from __future__ import annotations

from django.urls import path

from review.api import comments, threads

PROMPT = "prompts/<uuid:prompt_id>"
THREAD = "threads/<uuid:thread_id>"

urlpatterns = [
    path(f"{PROMPT}/threads", threads.PromptThreads.as_view(), name="api-prompt-threads"),
    path(f"{PROMPT}/people", threads.Mentionable.as_view(), name="api-mentionable"),
    path(f"{PROMPT}/versions/<str:pointer>/threads", threads.VersionThreads.as_view(), name="api-version-threads"),
    path(THREAD, threads.ThreadDetail.as_view(), name="api-thread"),
    path(f"{THREAD}/comments", threads.ThreadComments.as_view(), name="api-thread-comments"),
    path(f"{THREAD}/resolve", threads.ThreadResolve.as_view(), name="api-thread-resolve"),
    path(f"{THREAD}/reopen", threads.ThreadReopen.as_view(), name="api-thread-reopen"),
    path(f"{THREAD}/place", threads.ThreadPlace.as_view(), name="api-thread-place"),
    path("comments/<uuid:comment_id>", comments.CommentDetail.as_view(), name="api-comment"),
]
