from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import DomainError
from inference_client import provider_keys, sealing


class Command(BaseCommand):
    help = (
        "Seal people's keys for providers anew under the first of SEALING_KEYS. Afterwards the others can be dropped."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = provider_keys.reseal_keys()
        except sealing.SealBroken as error:
            raise CommandError(
                "A key was sealed with none of SEALING_KEYS. Put the missing one back, at the end of the list."
            ) from error
        except DomainError as error:
            raise CommandError(f"{error.message} {error.next_step}") from error
        print(f"{count} keys are sealed under the first of SEALING_KEYS.")
