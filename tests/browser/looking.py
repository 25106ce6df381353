"""What every page of the site must be in a browser: quiet, its own, readable by everybody, narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 320, "height": 640}
_RUN = """
async rules => {
    const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
    const options = { resultTypes: ["violations"], preload: false, ...only };
    const found = await axe.run(document, options);
    return found.violations
        .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 120)).join(" | ")}`);
}
"""
_OVER = """
() => {
    const over = document.documentElement.scrollWidth - innerWidth;
    return over > 0 ? [`${over} px wider than ${innerWidth} px`] : [];
}
"""
_WEIGHT = """
() => performance.getEntries()
    .filter(one => ["navigation", "resource"].includes(one.entryType))
    .reduce((sum, one) => sum + one.encodedBodySize, 0)
"""
MOST_BYTES = 300_000


def faults(page: Any) -> list[str]:
    """Return what is wrong with the page that is open, in light and dark, wide and narrow, or too heavy.

    What its console says, whom it asks and what the policy refuses is noted by `page_of`.
    """
    weight = page.evaluate(_WEIGHT)
    page.evaluate(AXE)
    page.emulate_media(color_scheme="light")
    found: list[str] = page.evaluate(_RUN, None)
    found += [f"{weight} bytes"] if weight > MOST_BYTES else []
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {one}" for one in page.evaluate(_RUN, ["color-contrast"])]
    page.set_viewport_size(NARROW)
    found += page.evaluate(_OVER)
    page.set_viewport_size(WIDE)
    return found
