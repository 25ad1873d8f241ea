from __future__ import annotations

from django.db import migrations

FILL = """
    UPDATE inference_client_run AS run
    SET group_id = version.prompt_id, subject_id = version.id,
        kind = CASE WHEN tie.comparison_id IS NULL THEN run.kind ELSE 'comparison' END
    FROM playground_versionrun AS tie
    JOIN playground_version AS version ON version.id = tie.version_id
    WHERE tie.run_id = run.id AND run.group_id IS NULL
"""


class Migration(migrations.Migration):
    """Runs that were made before they knew what they are listed by."""

    dependencies = [("playground", "0014_variable_values"), ("inference_client", "0004_run_history")]

    operations = [migrations.RunSQL(FILL, reverse_sql=migrations.RunSQL.noop)]
