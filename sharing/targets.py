from __future__ import annotations

from dataclasses import dataclass

from core.errors import InvalidInput, NotFound
from playground import access
from playground.models import Branch, Label, Prompt, Version
from playground.services.lines import LATEST


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a link opens: exactly one of a version, for ever, or whatever a branch or a label points at."""

    version: Version | None = None
    branch: str = ""
    label: str = ""

    def check(self, prompt: Prompt) -> None:
        """Raises InvalidInput (`target`) unless it names one thing, and that is there."""
        if sum((self.version is not None, bool(self.branch), bool(self.label))) != 1:
            raise InvalidInput("A link opens a version, a branch or a label: one of them.", field="target")
        if self.version is not None and self.version.prompt_id != prompt.pk:
            raise InvalidInput("This prompt has no such version.", field="target")
        if self.branch and not Branch.objects.filter(prompt=prompt, name=self.branch).exists():
            raise InvalidInput("This prompt has no such branch.", field="target")
        if self.label and not Label.objects.filter(prompt=prompt, name=self.label, version__isnull=False).exists():
            raise InvalidInput("This prompt has no such label.", field="target")

    @classmethod
    def read(cls, prompt: Prompt, given: dict[str, object]) -> Target:
        """From `{"version": number}`, `{"branch": name}` or `{"label": name}`. Raises InvalidInput."""
        version = given.get("version")
        try:
            found = access.version_of(prompt, str(version)) if version is not None and version != LATEST else None
        except NotFound as error:
            raise InvalidInput("This prompt has no such version.", field="target") from error
        target = cls(version=found, branch=str(given.get("branch") or ""), label=str(given.get("label") or ""))
        target.check(prompt)
        return target
