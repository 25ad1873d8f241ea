from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from playground.models.prompt import Prompt
from playground.models.version import Version


class VersionSearch(models.Model):
    """The words of a version: its message and the beginning of each of its texts. Can be made again at any time."""

    version = models.OneToOneField(Version, on_delete=models.CASCADE, primary_key=True, related_name="search")
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    document = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["document"], name="version_search_words")]
