import core.ids
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('playground', '0005_uploads'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ErasedObjects',
            fields=[
                ('prompt_id', models.UUIDField(primary_key=True, serialize=False)),
                ('erased_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField(
            model_name='prompt',
            name='archived_at',
            field=models.DateTimeField(blank=True, help_text='Out of the usual lists, but as usable as ever.', null=True),
        ),
        migrations.AddField(
            model_name='prompt',
            name='trashed_at',
            field=models.DateTimeField(blank=True, help_text='Gone for everybody, until restored or erased.', null=True),
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('branch', models.CharField(help_text='A name: the branch need not exist yet.', max_length=100)),
                ('content', models.TextField()),
                ('revision', models.BigIntegerField()),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('base', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='playground.version')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to='playground.prompt')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('prompt', 'person', 'branch'), name='draft_once_a_branch')],
            },
        ),
        migrations.CreateModel(
            name='VersionSearch',
            fields=[
                ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search', serialize=False, to='playground.version')),
                ('document', django.contrib.postgres.search.SearchVectorField()),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.prompt')),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['document'], name='version_search_words')],
            },
        ),
        migrations.RunSQL(
            sql="""
                ALTER TABLE playground_draft ADD CONSTRAINT draft_base_of_its_prompt
                FOREIGN KEY (prompt_id, base_id) REFERENCES playground_version (prompt_id, id)
                DEFERRABLE INITIALLY DEFERRED
            """,
            reverse_sql="ALTER TABLE playground_draft DROP CONSTRAINT draft_base_of_its_prompt",
        ),
    ]
