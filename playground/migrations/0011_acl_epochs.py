from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("playground", "0010_file_imports")]

    operations = [
        migrations.AddField(
            model_name="prompt",
            name="acl_epoch",
            field=models.BigIntegerField(
                db_default=0,
                default=0,
                help_text="Grows with each change of who may read it, in the same transaction.",
            ),
        ),
        migrations.AddField(
            model_name="version",
            name="acl_epoch",
            field=models.BigIntegerField(
                db_default=0,
                default=0,
                help_text="The prompt's when it was made: an older decision never shows it.",
            ),
        ),
    ]
