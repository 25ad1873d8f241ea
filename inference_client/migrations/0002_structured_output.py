from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inference_client", "0001_run")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="structured_json",
            field=models.TextField(
                default="null", help_text="Whether the answer follows the schema that the request asks for."
            ),
        ),
    ]
