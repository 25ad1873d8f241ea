"""Prompts and their versions: the version store, rendering, snippets, the workbench pages and their API."""
