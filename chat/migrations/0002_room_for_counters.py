from django.db import migrations


def keep_room(table):
    """Free space in each page, so that raising a counter writes the new row beside the old one and no index changes."""
    return migrations.RunSQL(
        sql=f"ALTER TABLE {table} SET (fillfactor = 80)", reverse_sql=f"ALTER TABLE {table} RESET (fillfactor)"
    )


class Migration(migrations.Migration):

    dependencies = [("chat", "0001_people_and_messages")]

    operations = [keep_room("chat_conversation"), keep_room("chat_mailbox"), keep_room("chat_member")]
