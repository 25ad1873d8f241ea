"""The API versions in use, told apart by the `anthropic-version` header."""

from typing import Literal, get_args

from inference_backend.errors import InvalidRequestError

ApiVersion = Literal["2023-06-01", "2026-10-21"]
VERSIONS: tuple[ApiVersion, ...] = get_args(ApiVersion)

# From 2026-10-21 on the API refuses these instead of honouring them.
SAMPLING_FIELDS = ("temperature", "top_p", "top_k")


def read_version(header: str | None) -> ApiVersion:
    """Raises InvalidRequestError for a missing header too: the API does not guess."""
    if header is None:
        raise InvalidRequestError("header is required", field="anthropic-version")
    version = next((known for known in VERSIONS if known == header), None)
    if version is not None:
        return version
    raise InvalidRequestError(
        f"this version is not supported; send one of {', '.join(VERSIONS)}", field="anthropic-version"
    )


def takes_sampling(version: ApiVersion) -> bool:
    return version == "2023-06-01"
