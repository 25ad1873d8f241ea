"""`manage.py check_storage`: try the configured bucket, and say what to change if it must not be used."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from playground.bodies import canary


class Command(BaseCommand):
    help = "Check that the bucket refuses expired addresses and wrong bytes, and that browsers may upload."

    def handle(self, *args: Any, **options: Any) -> None:
        bucket = canary.Bucket(
            endpoint_url=settings.S3_ENDPOINT_URL,
            public_endpoint_url=settings.S3_PUBLIC_ENDPOINT_URL,
            access_key_id=settings.S3_ACCESS_KEY_ID,
            secret_access_key=settings.S3_SECRET_ACCESS_KEY,
            name=settings.S3_BUCKET,
            region=settings.S3_REGION,
            origin=canary.origin_of(settings.PUBLIC_URL),
        )
        try:
            canary.check(bucket)
        except canary.BucketRefused as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The bucket {bucket.name} enforces expiry and hashes, and answers {bucket.origin}.")
