"""`manage.py scrub_bodies`: read every stored text back, say what is damaged, and mend what has a good copy."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.errors import StorageUnavailable
from playground.bodies.scrubbing import Finding, affected_versions, scrub_prompt
from playground.models import Body


class Command(BaseCommand):
    help = "Read every representation of every text back and compare it with its SHA-256."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--prompt", type=uuid.UUID, help="Only the texts of this prompt.")
        parser.add_argument("--repair", action="store_true", help="Write the good copy over the damaged one.")

    def handle(self, *args: Any, **options: Any) -> None:
        prompts = Body.objects.order_by("prompt").values_list("prompt_id", flat=True).distinct()
        if options["prompt"]:
            prompts = prompts.filter(prompt_id=options["prompt"])
        read = 0
        findings: list[Finding] = []
        try:
            for prompt_id in prompts:
                more, found = self._scrub(prompt_id, repair=options["repair"])
                read, findings = read + more, findings + found
        except StorageUnavailable as error:
            raise CommandError("The text store does not answer. Nothing is known to be damaged.") from error
        repaired = sum(finding.repaired for finding in findings)
        self.stdout.write(f"{read} texts read, {len(findings)} damaged copies, {repaired} repaired.")
        if len(findings) > repaired:
            hint = "" if options["repair"] else " Run it again with --repair to mend what has a good copy."
            raise CommandError(f"{len(findings) - repaired} damaged copies are not repaired.{hint}")

    def _scrub(self, prompt_id: uuid.UUID, *, repair: bool) -> tuple[int, list[Finding]]:
        """How many texts a prompt has, and what was found, which is printed."""
        read = 0
        findings: list[Finding] = []
        for _, found in scrub_prompt(prompt_id, repair=repair):
            read += 1
            findings += found
        for finding in findings:
            end = "repaired" if finding.repaired else "not repaired"
            self.stdout.write(f"prompt {prompt_id} text {finding.body.pk}: {finding.damage.value}, {end}")
        unreadable = [finding.body for finding in findings if not finding.readable]
        if unreadable:
            numbers = ", ".join(map(str, affected_versions(prompt_id, unreadable)))
            self.stdout.write(f"prompt {prompt_id}: unreadable versions: {numbers or 'none'}")
        return read, findings
