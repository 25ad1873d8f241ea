"""A prompt with its whole tree as one file: `docs/export-format.md`. No database and no network in here."""
