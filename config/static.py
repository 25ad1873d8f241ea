"""Static files for production: names that change with the content, so that browsers may keep them for ever."""

from __future__ import annotations

from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage

_FILES, (*_IMPORTS, (_CALL, _CALL_REWRITTEN)) = HashedFilesMixin._js_module_import_aggregation_patterns  # type: ignore[attr-defined]  # private
#: After `import("./module.js")`, what only a comment that names a type of it has.
_TYPE = r"(?!\.(?!then\b))"


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Also rewrites the imports between our modules; otherwise they would load each other under unhashed names."""

    support_js_module_import_aggregation = True
    #: Two modules may name types of each other, and then the names of neither would ever settle.
    _js_module_import_aggregation_patterns = (_FILES, (*_IMPORTS, (_CALL + _TYPE, _CALL_REWRITTEN)))
    #: A name settles one pass after those of all that the file imports: how deep imports may be.
    max_post_process_passes = 50
