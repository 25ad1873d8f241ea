from __future__ import annotations

from django.db import migrations, models

KINDS = [("single", "Single"), ("comparison", "Comparison"), ("batch", "Batch")]
NOT_SUCCEEDED = ["queued", "running", "failed", "cancelled"]


class Migration(migrations.Migration):
    dependencies = [("inference_client", "0003_providers")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="kind",
            field=models.CharField(choices=KINDS, default="single", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["single", "comparison", "batch"])), name="run_kind_known"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="group_id",
            field=models.UUIDField(help_text="What runs are listed by, named by the app that made them.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="subject_id",
            field=models.UUIDField(help_text="What was run, a part of the group, named likewise.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="excerpt",
            field=models.CharField(
                blank=True, default="", help_text="The beginning of the answer, in one line.", max_length=200
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["account", "group_id", "-id"], name="run_newest_of_group"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["account", "subject_id", "-id"], name="run_newest_of_subject"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["account", "model", "-id"], name="run_newest_of_model"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status__in", NOT_SUCCEEDED)),
                fields=["account", "status", "-id"],
                name="run_newest_not_succeeded",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("kind", "batch"), _negated=True),
                fields=["account", "-id"],
                name="run_newest_outside_batches",
            ),
        ),
    ]
