import core.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('inference_client', '0001_run'),
        ('playground', '0011_acl_epochs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('revision', models.PositiveIntegerField(default=1, help_text='Grows with each change of its rows.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('maker', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='datasets', to='playground.prompt')),
            ],
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('checks', models.TextField(default='[]', help_text='JSON text: `batches.checks`.')),
                ('state', models.CharField(choices=[('running', 'Running'), ('paused', 'Paused'), ('cancelled', 'Cancelled'), ('finished', 'Finished')], default='running', max_length=16)),
                ('paused_code', models.CharField(blank=True, max_length=40)),
                ('paused_message', models.CharField(blank=True, max_length=1000)),
                ('sent', models.PositiveIntegerField(default=0, help_text='Cells that have an item.')),
                ('cells', models.PositiveIntegerField(help_text='Rows times versions.')),
                ('held_until', models.DateTimeField(help_text='The backend was away: nothing is sent before.', null=True)),
                ('holds', models.PositiveSmallIntegerField(default=0, help_text='Times in a row that the backend was away.')),
                ('failures', models.PositiveSmallIntegerField(default=0, help_text='Runs in a row that failed for their own reasons.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('finished_at', models.DateTimeField(null=True)),
                ('maker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='playground.prompt')),
                ('dataset', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='batches', to='batches.dataset')),
            ],
        ),
        migrations.CreateModel(
            name='BatchItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('row', models.PositiveIntegerField()),
                ('position', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('waiting', 'To be sent again'), ('running', 'Running'), ('checking', 'Answered; another model is to judge it'), ('done', 'Answered; there are no checks'), ('passed', 'Passed'), ('failed', 'A check failed'), ('error', 'The run or a check could not be done'), ('cancelled', 'Cancelled')], default='running', max_length=16)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('breaks', models.PositiveSmallIntegerField(default=0, help_text='Times that an answer broke off.')),
                ('verdicts', models.TextField(default='[]', help_text='JSON in ASCII: [verdict, reason] for each check.')),
                ('marks', models.CharField(blank=True, help_text='First letters of the verdicts.', max_length=10)),
                ('excerpt', models.TextField(blank=True, help_text='The beginning of the answer, without NUL.')),
                ('output_chars', models.PositiveIntegerField(default=0)),
                ('output_digest', models.BinaryField(default=b'', help_text='Tells answers apart.', max_length=16)),
                ('stop_reason', models.CharField(blank=True, max_length=64)),
                ('error_code', models.CharField(blank=True, max_length=64)),
                ('error_message', models.CharField(blank=True, max_length=1000)),
                ('input_tokens', models.PositiveIntegerField(null=True)),
                ('output_tokens', models.PositiveIntegerField(null=True)),
                ('ttft_ms', models.PositiveIntegerField(null=True)),
                ('duration_ms', models.PositiveIntegerField(null=True)),
                ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                ('judging', models.PositiveSmallIntegerField(null=True)),
                ('judging_attempt', models.PositiveSmallIntegerField(default=0)),
                ('judging_runs', models.PositiveSmallIntegerField(default=0)),
                ('judging_input_tokens', models.PositiveIntegerField(default=0)),
                ('judging_output_tokens', models.PositiveIntegerField(default=0)),
                ('ended_at', models.DateTimeField(null=True)),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='batches.batch')),
                ('run', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='inference_client.run')),
            ],
        ),
        migrations.CreateModel(
            name='BatchRun',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='inference_client.run')),
                ('attempt', models.PositiveSmallIntegerField()),
                ('judged', models.PositiveSmallIntegerField(null=True)),
                ('judging_attempt', models.PositiveSmallIntegerField(default=0)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='runs', to='batches.batchitem')),
            ],
        ),
        migrations.CreateModel(
            name='BatchVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('pointer', models.CharField(help_text='As asked for: a number, a label, a branch.', max_length=200)),
                ('model', models.CharField(help_text='That answers.', max_length=200)),
                ('provider', models.CharField(blank=True, max_length=16)),
                ('parameters', models.TextField(default='{}', help_text="JSON text, in place of the version's own.")),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='batches.batch')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.version')),
            ],
        ),
        migrations.CreateModel(
            name='DatasetFile',
            fields=[
                ('size', models.BigIntegerField()),
                ('sha256', models.BinaryField(max_length=32)),
                ('staging_key', models.CharField(max_length=200, unique=True)),
                ('part_hashes', models.BinaryField(blank=True, max_length=1024, null=True)),
                ('multipart_id', models.CharField(blank=True, help_text="The store's name for what is sent to the staging key in parts.", max_length=1024)),
                ('expires_at', models.DateTimeField(help_text='Until when addresses for its bytes are given.')),
                ('dataset', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='file', serialize=False, to='batches.dataset')),
                ('format', models.CharField(choices=[('csv', 'Csv'), ('jsonl', 'Jsonl')], max_length=8)),
                ('columns', models.TextField(default='{}', help_text='JSON: from names of the file to variables, or null.')),
                ('expected', models.TextField(default='null', help_text='JSON: name of the column of expected texts, as asked for.')),
                ('skips_bad_rows', models.BooleanField(default=False)),
                ('status', models.CharField(choices=[('pending', 'The bytes are awaited'), ('queued', 'A worker is awaited'), ('reading', 'A worker reads it'), ('ready', 'Its rows are in the dataset'), ('failed', 'It made nothing; `error_code` says why')], default='pending', max_length=16)),
                ('bytes_read', models.BigIntegerField(default=0)),
                ('rows_read', models.PositiveIntegerField(default=0)),
                ('problem_count', models.PositiveIntegerField(default=0)),
                ('problems', models.TextField(default='[]', help_text='JSON in ASCII: the first of them.')),
                ('warnings', models.TextField(default='[]', help_text='JSON in ASCII.')),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('error_message', models.CharField(blank=True, max_length=1000)),
                ('claim', models.UUIDField(blank=True, help_text='Of the worker that has it.', null=True)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it last moved.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='RowSet',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('columns', models.JSONField(default=list, help_text='Names of variables, in the order of the file.')),
                ('missing', models.JSONField(default=dict, help_text='By name, how many rows do not set it.')),
                ('count', models.PositiveIntegerField(default=0)),
                ('expected_count', models.PositiveIntegerField(default=0, help_text='Rows with an expected text.')),
                ('length', models.BigIntegerField(default=0, help_text='Of the rows as JSON.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.prompt')),
            ],
        ),
        migrations.CreateModel(
            name='RowChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.PositiveIntegerField(help_text='Number of its first row, from 0.')),
                ('count', models.PositiveSmallIntegerField()),
                ('data', models.BinaryField()),
                ('rows', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='batches.rowset')),
            ],
        ),
        migrations.AddField(
            model_name='dataset',
            name='rows',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='datasets', to='batches.rowset'),
        ),
        migrations.AddField(
            model_name='batch',
            name='rows',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='batches', to='batches.rowset'),
        ),
        migrations.AddIndex(
            model_name='batchitem',
            index=models.Index(fields=['batch', 'status', 'row'], name='item_by_status'),
        ),
        migrations.AddIndex(
            model_name='batchitem',
            index=models.Index(fields=['batch', 'ended_at'], name='item_by_end'),
        ),
        migrations.AddIndex(
            model_name='batchitem',
            index=models.Index(condition=models.Q(('status__in', ('waiting', 'running', 'checking'))), fields=['batch', 'row', 'position'], name='item_open'),
        ),
        migrations.AddConstraint(
            model_name='batchitem',
            constraint=models.UniqueConstraint(fields=('batch', 'row', 'position'), name='item_once'),
        ),
        migrations.AddConstraint(
            model_name='batchitem',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'running', 'checking', 'done', 'passed', 'failed', 'error', 'cancelled'])), name='item_status_known'),
        ),
        migrations.AddConstraint(
            model_name='batchitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('status__in', ('waiting', 'running', 'checking'))), models.Q(('ended_at__isnull', False), ('status__in', ('done', 'passed', 'failed', 'error', 'cancelled'))), _connector='OR'), name='item_ended_at'),
        ),
        migrations.AddConstraint(
            model_name='batchitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('judging__isnull', False), ('status', 'checking')), models.Q(models.Q(('status', 'checking'), _negated=True), ('judging', None)), _connector='OR'), name='item_judged_while_checking'),
        ),
        migrations.AddConstraint(
            model_name='batchrun',
            constraint=models.UniqueConstraint(fields=('item', 'attempt', 'judged', 'judging_attempt'), name='batch_run_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='batchversion',
            constraint=models.UniqueConstraint(fields=('batch', 'position'), name='batch_version_once'),
        ),
        migrations.AddConstraint(
            model_name='batchversion',
            constraint=models.CheckConstraint(condition=models.Q(('position__lt', 4)), name='batch_version_position'),
        ),
        migrations.AddField(
            model_name='datasetfile',
            name='account',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='rowchunk',
            constraint=models.UniqueConstraint(fields=('rows', 'first'), name='row_chunk_once'),
        ),
        migrations.AddIndex(
            model_name='dataset',
            index=models.Index(fields=['prompt', '-id'], name='dataset_newest_of_prompt'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['prompt', '-id'], name='batch_newest_of_prompt'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('state__in', ['running', 'paused'])), fields=['state', 'id'], name='batch_open'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['running', 'paused', 'cancelled', 'finished'])), name='batch_state_known'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('sent__lte', models.F('cells'))), name='batch_sends_what_it_has'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state__in', ['running', 'paused'])), models.Q(('finished_at__isnull', False), ('state__in', ['cancelled', 'finished'])), _connector='OR'), name='batch_finished_when_over'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'paused'), models.Q(('paused_code', ''), _negated=True)), models.Q(models.Q(('state', 'paused'), _negated=True), ('paused_code', '')), _connector='OR'), name='batch_paused_says_why'),
        ),
        migrations.AddIndex(
            model_name='datasetfile',
            index=models.Index(fields=['account', 'status'], name='dataset_file_of_account'),
        ),
        migrations.AddIndex(
            model_name='datasetfile',
            index=models.Index(fields=['status', 'seen_at'], name='dataset_file_to_resend'),
        ),
        migrations.AddConstraint(
            model_name='datasetfile',
            constraint=models.CheckConstraint(condition=models.Q(('size__gte', 0), ('size__lte', 134217728)), name='dataset_file_size'),
        ),
        migrations.AddConstraint(
            model_name='datasetfile',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'queued', 'reading', 'ready', 'failed'])), name='dataset_file_status'),
        ),
        migrations.AddConstraint(
            model_name='datasetfile',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim__isnull', False), ('status', 'reading')), models.Q(models.Q(('status', 'reading'), _negated=True), ('claim', None)), _connector='OR'), name='dataset_file_reading_has_a_claim'),
        ),
        migrations.AddConstraint(
            model_name='datasetfile',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'failed'), models.Q(('error_code', ''), _negated=True)), models.Q(models.Q(('status', 'failed'), _negated=True), ('error_code', '')), _connector='OR'), name='dataset_file_failed_says_why'),
        ),
    ]
