"""`manage.py reindex_search`: make the words that versions are found by again, from their texts."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from playground.models import Version
from playground.services import search


class Command(BaseCommand):
    help = "Index the messages and texts of versions for the search: all of them, or with --missing the rest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--missing", action="store_true", help="Only versions that are not indexed yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        done = search.index_missing() if options["missing"] else search.reindex(versions=Version.objects.all())
        self.stdout.write(f"{done} versions indexed.")
