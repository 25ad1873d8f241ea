import core.ids
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


def composite(table, column, name):
    """A version that is pointed at is always of the same prompt. Checked at the commit: an erasure deletes in any order."""
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {name}
            FOREIGN KEY (prompt_id, {column}) REFERENCES playground_version (prompt_id, id)
            DEFERRABLE INITIALLY DEFERRED
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0002_keys_made_with_keys'),
        ('playground', '0011_acl_epochs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Owner',
            fields=[
            ],
            options={
                'proxy': True,
                'indexes': [],
                'constraints': [],
            },
            bases=('accounts.user',),
        ),
        migrations.CreateModel(
            name='AccessRequest',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('open', 'Open'), ('granted', 'Granted'), ('declined', 'Declined')], default='open', max_length=16)),
                ('role', models.CharField(blank=True, choices=[('viewer', 'Viewer'), ('commenter', 'Commenter'), ('editor', 'Editor')], help_text='What was granted.', max_length=16)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('answered_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_requests', to='playground.prompt')),
                ('version', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.version')),
            ],
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('commenter', 'Commenter'), ('editor', 'Editor')], max_length=16)),
                ('may_share', models.BooleanField(default=False, help_text='An editor may share it on; otherwise only its owner may.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', models.DateTimeField(blank=True, help_text='To the minute.', null=True)),
                ('expires_at', models.DateTimeField(blank=True, help_text='An instant, never a day.', null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to=settings.AUTH_USER_MODEL)),
                ('granted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='playground.prompt')),
            ],
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=32)),
                ('subject', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.prompt')),
            ],
        ),
        migrations.CreateModel(
            name='OwnershipTransfer',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('declined', 'Declined'), ('withdrawn', 'Withdrawn')], default='open', max_length=16)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('from_account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transfers', to='playground.prompt')),
                ('to_account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('token_hash', models.BinaryField(max_length=32, unique=True)),
                ('token_prefix', models.CharField(help_text='To tell links apart in a list; opens nothing.', max_length=12)),
                ('audience', models.CharField(choices=[('public', 'Anybody who has the link'), ('signed_in', 'Who has the link and is signed in')], max_length=16)),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('commenter', 'Commenter'), ('editor', 'Editor')], default='viewer', max_length=16)),
                ('follows_branch', models.CharField(blank=True, max_length=100)),
                ('follows_label', models.CharField(blank=True, max_length=100)),
                ('shows_history', models.BooleanField(default=False, help_text='Also the versions behind the one it opens.')),
                ('password', models.CharField(blank=True, help_text='A slow hash; empty for none.', max_length=128)),
                ('password_tries', models.PositiveIntegerField(default=0, help_text='Wrong ones since `password_tries_since`.')),
                ('password_tries_since', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, help_text='An instant, never a day.', null=True)),
                ('max_views', models.PositiveIntegerField(blank=True, null=True)),
                ('views', models.PositiveIntegerField(default=0, help_text='How often it was opened; reloading does not count.')),
                ('note', models.CharField(blank=True, help_text='For who made it.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', models.DateTimeField(blank=True, help_text='To the minute.', null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='playground.prompt')),
                ('target_version', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.version')),
            ],
        ),
        migrations.CreateModel(
            name='AccessLogEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('visitor', models.CharField(blank=True, help_text='One browser that came by a link; names nobody.', max_length=32)),
                ('what', models.CharField(help_text='The name of a route, or of a change of who may read it.', max_length=64)),
                ('version_number', models.PositiveIntegerField(blank=True, null=True)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('allowed', models.BooleanField()),
                ('reason', models.CharField(blank=True, help_text='Why it was refused.', max_length=32)),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.prompt')),
                ('link', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sharing.sharelink')),
            ],
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='owner',
            trigger=pgtrigger.compiler.Trigger(name='owner_switched_off', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT NEW."is_active" AND OLD."is_active")', func='\n                    UPDATE playground_prompt SET acl_epoch = acl_epoch + 1\n                    WHERE owner_id = NEW.id\n                    OR id IN (\n                        SELECT prompt_id FROM sharing_sharelink WHERE created_by_id = NEW.id AND revoked_at IS NULL\n                    );\n                    RETURN NULL;\n                ', hash='4fc182c21dfdc7eaf7f312bdc7bbf71542ee7955', operation='UPDATE OF "is_active"', pgid='pgtrigger_owner_switched_off_51c81', table='accounts_user', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='accessrequest',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'open')), fields=('prompt', 'account'), name='request_once_a_person'),
        ),
        migrations.AddConstraint(
            model_name='accessrequest',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['open', 'granted', 'declined'])), name='request_status'),
        ),
        migrations.AddConstraint(
            model_name='accessrequest',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'granted'), models.Q(('role', ''), _negated=True)), models.Q(models.Q(('status', 'granted'), _negated=True), ('role', '')), _connector='OR'), name='request_granted_as'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('revoked_at', None)), fields=['account', '-id'], name='grant_of_account'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('prompt', 'account'), name='grant_once_a_person'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'commenter', 'editor'])), name='grant_role_known'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('may_share', False), ('role', 'editor'), _connector='OR'), name='grant_editors_share'),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(fields=['account', '-id'], name='notification_newest'),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('seen_at', None)), fields=['account'], name='notification_unseen'),
        ),
        migrations.AddConstraint(
            model_name='ownershiptransfer',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'open')), fields=('prompt',), name='transfer_one_offer'),
        ),
        migrations.AddConstraint(
            model_name='ownershiptransfer',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['open', 'accepted', 'declined', 'withdrawn'])), name='transfer_status_known'),
        ),
        migrations.AddConstraint(
            model_name='ownershiptransfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answered_at', None), ('status', 'open')), models.Q(models.Q(('status', 'open'), _negated=True), ('answered_at__isnull', False)), _connector='OR'), name='transfer_answered_at'),
        ),
        migrations.AddIndex(
            model_name='sharelink',
            index=models.Index(condition=models.Q(('revoked_at', None)), fields=['created_by', '-id'], name='link_of_account'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.Exact(django.db.models.functions.text.Length('token_hash'), 32), name='link_token_is_sha256'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(('audience__in', ['public', 'signed_in'])), name='link_audience_known'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(('role', 'viewer')), name='link_shows_only'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('follows_branch', ''), ('follows_label', ''), ('target_version__isnull', False)), models.Q(('follows_label', ''), ('target_version', None), models.Q(('follows_branch', ''), _negated=True)), models.Q(('follows_branch', ''), ('target_version', None), models.Q(('follows_label', ''), _negated=True)), _connector='OR'), name='link_one_target'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(('max_views', None), models.Q(('max_views__gte', 1), ('views__lte', models.F('max_views'))), _connector='OR'), name='link_views_in_limit'),
        ),
        migrations.AddIndex(
            model_name='accesslogentry',
            index=models.Index(fields=['prompt', '-id'], name='access_log_newest'),
        ),
        composite("sharing_sharelink", "target_version_id", "link_target_of_its_prompt"),
        composite("sharing_accessrequest", "version_id", "request_version_of_its_prompt"),
    ]
