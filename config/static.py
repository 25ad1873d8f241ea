"""Static files for production: names that change with the content, so that browsers may keep them for ever."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Also rewrites the imports between our modules; otherwise they would load each other under unhashed names."""

    support_js_module_import_aggregation = True
