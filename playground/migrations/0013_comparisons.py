import core.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("playground", "0012_conversations"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("columns_json", models.TextField()),
                ("variables", models.TextField(default="{}")),
                ("repetitions", models.PositiveSmallIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comparisons",
                        to="playground.prompt",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["prompt", "account", "-id"], name="comparison_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("repetitions__gte", 1), ("repetitions__lte", 20)),
                        name="comparison_repetitions",
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="versionrun",
            name="parameters",
            field=models.TextField(db_default="{}", default="{}"),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="comparison",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="playground.comparison",
            ),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="column",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="repetition",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="versionrun",
            name="attempt",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="versionrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("comparison__isnull", False)),
                fields=("comparison", "column", "repetition", "attempt"),
                name="run_once_a_place",
            ),
        ),
        migrations.AddConstraint(
            model_name="versionrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("attempt", None), ("column", None), ("comparison", None), ("repetition", None)),
                    models.Q(
                        ("attempt__isnull", False),
                        ("column__isnull", False),
                        ("comparison__isnull", False),
                        ("repetition__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="run_has_a_place_in_its_comparison",
            ),
        ),
    ]
