import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.ids


class Migration(migrations.Migration):
    dependencies = [
        ("playground", "0011_acl_epochs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="versionrun",
            name="parent",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="replies",
                to="playground.versionrun",
            ),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="root",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="playground.versionrun"
            ),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="turns",
            field=models.TextField(default="[]"),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="added",
            field=models.TextField(default="[]"),
        ),
        migrations.CreateModel(
            name="ToolResult",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("tool", models.CharField(max_length=200)),
                ("content_json", models.TextField()),
                ("is_error", models.BooleanField(default=False)),
                (
                    "digest",
                    models.BinaryField(
                        help_text="SHA-256 of content and error flag: what makes it one.", max_length=32
                    ),
                ),
                ("used_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="playground.prompt"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "prompt", "tool", "-used_at"], name="tool_result_newest")],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "prompt", "tool", "digest"), name="tool_result_once")
                ],
            },
        ),
    ]
