"""Test cases of a prompt, and batches: many cases sent through some versions, with checks on each answer."""
