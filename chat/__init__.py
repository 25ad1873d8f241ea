"""1:1 chat: conversations, messages, mailboxes and inboxes. Imports downward only; never sees `playground`."""
