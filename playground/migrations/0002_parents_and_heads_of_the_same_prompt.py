"""Foreign keys over (prompt, version): a parent or a branch head can never be of another prompt.

Deferred to the commit, so that the erasure of a whole prompt may delete its rows in any order.
"""

from django.db import migrations


def composite(table: str, column: str, name: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {name}
            FOREIGN KEY (prompt_id, {column}) REFERENCES playground_version (prompt_id, id)
            DEFERRABLE INITIALLY DEFERRED
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("playground", "0001_prompts_and_versions")]

    operations = [
        composite("playground_version", "parent_id", "version_parent_of_its_prompt"),
        composite("playground_branch", "head_id", "branch_head_of_its_prompt"),
    ]
