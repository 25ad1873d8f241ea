"""Prompts of other products and formats, read as specs. Pure: text in, spec out, with a list of what was left behind.

One module a format; `reading` finds out which it is. Nothing here is trusted: what a reader returns is checked by
`playground.spec` like any other spec, and nothing of an input is logged, since it may hold keys.
"""
