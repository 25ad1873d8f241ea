from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A batch of many runs is hidden at once and deleted a portion at a time."""

    dependencies = [("batches", "0001_datasets_and_batches")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="deleting",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Gone for everybody: its rows are being deleted."
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("deleting", False), ("state__in", ["cancelled", "finished"]), _connector="OR"),
                name="batch_deleted_when_over",
            ),
        ),
    ]
