"""What must never be written down: settings whose name or value looks like a credential.

A value that is left out by mistake costs a line of provenance; one that is kept by mistake costs a password. So all
that looks like a key is left out, except masks of cores and the UUIDs that name a GPU.
"""

from __future__ import annotations

import re

NAME = re.compile(
    r"SECRET|TOKEN|PASSW|PASSPHRASE|_PASS$|CRED|PRIVATE|API_?KEY|ACCESS_?KEY|AUTH|BEARER|COOKIE|SIGNATURE|JWT"
    r"|_KEY(?:_|$)|_PWD$",
    re.IGNORECASE,
)
KNOWN = (
    "gh[pousr]_", "github_pat_", "glpat-", "hf_", "[rsp]k[-_]", "xox[a-z]-", "xapp-", "A[KS]IA", "AIza", "ya29", "eyJ",
    "npm_", "pypi-", "dop_v1_", "dckr_pat_", "nvapi-", "hvs", "SG",
)  # fmt: skip
SHAPES = (
    # Somebody's name or key before a host.
    r"://\S*@",
    # A key that is written beside its name.
    r"(?:secret|token|passw\w*|passphrase|credentials?|(?:api|access|private)_?key|auth\w*)[\"']?\s*[=:]\s*\S",
    r"--?(?:secret|token|password|passphrase|api-?key)\s+\S",
    r"\b(?:bearer|basic)\s+\S{8}",
    r"-----BEGIN",
)
KEYS = (
    # Beginnings that tell whose key it is.
    rf"(?<![A-Za-z0-9])(?:{'|'.join(KNOWN)})[A-Za-z0-9_.\-]{{16,}}",
    # Long runs of digits, small and capital letters.
    r"(?=[A-Za-z0-9+_\-]*\d)(?=[A-Za-z0-9+_\-]*[a-z])(?=[A-Za-z0-9+_\-]*[A-Z])[A-Za-z0-9+_\-]{32,}",
    # The same with slashes, as base64 has them, unless it begins as a path does.
    r"(?<![\w./+\-])(?=[A-Za-z0-9+/]*\d)(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])[A-Za-z0-9+][A-Za-z0-9+/]{31,}",
    # Hexadecimal digests and keys, in one piece or in halves.
    r"(?<![0-9A-Za-z])(?:(?:[0-9a-f]{16,}-?){2,}|(?:[0-9A-F]{16,}-?){2,}|[0-9a-f]{32,}|[0-9A-F]{32,})(?![0-9A-Za-z])",
)
SHAPE = re.compile("|".join(SHAPES), re.IGNORECASE)
KEY = re.compile("|".join(KEYS))
HARMLESS = re.compile(r"\b(?:(?:GPU|MIG)-(?:GPU-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9A-Fa-f]+)\b")


def is_secret(name: str, value: str) -> bool:
    """Return whether a setting looks like a credential, by its name or by its value."""
    return bool(NAME.search(name) or SHAPE.search(value) or KEY.search(HARMLESS.sub("", value)))
