from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A prompt with many runs is hidden at once and deleted a portion at a time."""

    dependencies = [("playground", "0016_unstored_bodies")]

    operations = [
        migrations.AddField(
            model_name="prompt",
            name="erasing",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Gone from the trash, too: its rows are being deleted."
            ),
        ),
        migrations.AddConstraint(
            model_name="prompt",
            constraint=models.CheckConstraint(
                condition=models.Q(("erasing", False), ("trashed_at__isnull", False), _connector="OR"),
                name="prompt_erased_from_the_trash",
            ),
        ),
    ]
