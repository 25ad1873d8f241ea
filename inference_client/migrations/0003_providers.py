from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.ids

PROVIDERS = [("self-hosted", "This server"), ("anthropic", "Anthropic")]


class Migration(migrations.Migration):
    dependencies = [
        ("inference_client", "0002_structured_output"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="provider",
            field=models.CharField(choices=PROVIDERS, default="self-hosted", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("provider__in", ["self-hosted", "anthropic"])), name="run_provider_known"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="cost_usd",
            field=models.DecimalField(
                decimal_places=8,
                help_text="By the prices at its end; null where one is unknown.",
                max_digits=14,
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="ProviderKey",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("provider", models.CharField(choices=PROVIDERS, max_length=16)),
                ("sealed", models.TextField()),
                ("ending", models.CharField(max_length=4)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="provider_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "provider"), name="provider_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(("provider", "anthropic")), name="provider_key_of_anthropic"
                    ),
                ],
            },
        ),
    ]
