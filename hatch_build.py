"""Adapt README.md for a package index, where links into the repository lead nowhere.

The environment variable TRACEARENA_URL is the address of the repository. With it, the links of the wheel's
README are absolute, and the metadata have addresses. Without it, links become text and pictures are left out.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


def adapt_readme(text: str, url: str, version: str) -> str:
    """Return a README whose links into the repository are absolute, or text where there is no address."""

    def replace(match: re.Match[str]) -> str:
        is_picture, words, target = match[1], match[2], match[3]
        if not url:
            return "" if is_picture else words
        kind = "raw" if is_picture else "blob"
        return f"{is_picture}[{words}]({url}/{kind}/v{version}/{target})"

    return re.sub(r"<!-- .*? -->\n", "", _LINK.sub(replace, text))


class ReadmeHook(MetadataHookInterface):
    """Give the metadata their README and, if the repository has an address, their addresses."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme`` and ``urls``, which pyproject.toml declares as dynamic."""
        url = os.environ.get("TRACEARENA_URL", "").rstrip("/")
        text = adapt_readme((Path(self.root) / "README.md").read_text("utf-8"), url, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if url:
            metadata["urls"] = {
                "Source": url,
                "Documentation": f"{url}/blob/v{metadata['version']}/docs/index.md",
            }
