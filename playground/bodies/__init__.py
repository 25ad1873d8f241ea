"""The version store: texts by SHA-256 inside their prompt, byte-exact, as compressed objects in S3.

`codec` turns bytes into a representation and back, `objects` talks to S3, `store` is what the rest of the product
calls. A representation is a snapshot (a whole zstd frame) or a delta against another text of the same prompt.
"""
