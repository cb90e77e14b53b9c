"""Documents lead to files that are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)\s#]+)")


def test_links_between_documents_lead_somewhere(root: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True, check=False)
    # A copy without history has no list: then all that lie where documents do.
    names = listed.stdout.split() or [str(path.relative_to(root)) for path in root.glob("docs/**/*.md")]
    assert "README.md" in names or names
    lost = [
        f"{name}: {target}"
        for name in names
        for target in LINK.findall((root / name).read_text(encoding="utf-8"))
        if not (root / name).parent.joinpath(target).exists()
    ]
    assert not lost, "links that lead nowhere: " + "; ".join(lost)
