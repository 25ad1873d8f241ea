from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from accounts import key_mirror


class Command(BaseCommand):
    help = "Copy every usable API key to Redis for the inference backend, and remove what stands for none."

    def handle(self, *args: Any, **options: Any) -> None:
        sweep = key_mirror.mirror_all()
        self.stdout.write(f"{sweep.mirrored} keys mirrored, {sweep.removed} stray entries removed.")
