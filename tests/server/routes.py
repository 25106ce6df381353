"""Every address of the site, taken from the site itself: what is added later is tested too."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

VALUES: dict[str, Sequence[str]] = {
    "number": ("1", "2", "001", "002", "9999", "9" * 30),
    "team": ("000", "001", "002", "003", "004", "999"),
    "kind": ("inferred-table", "inferred-traces", "nonsense"),
    "name": ("info_region.csv", "commitments.csv", "..%2fserver.json", "server.json"),
    "table": ("board.csv", "nothing"),
}


def pages() -> list[str]:
    """Return the patterns of all pages."""
    from tracearena.server.web.urls import urlpatterns

    return [f"/{one.pattern}" for one in urlpatterns if not hasattr(one, "url_patterns")]


def api_routes() -> list[tuple[str, str]]:
    """Return method and pattern of all routes of the API."""
    from tracearena.server.api import api

    described = api.get_openapi_schema()["paths"]
    found = [(method.upper(), path) for path, methods in described.items() for method in methods]
    return [*found, ("GET", "/api/v1/openapi.json")]


def filled(pattern: str, values: Mapping[str, Sequence[str]] = VALUES) -> Iterator[str]:
    """Yield the addresses of a pattern, with every value that is of interest."""
    parts = re.split(r"<(?:\w+:)?(\w+)>|\{(\w+)\}", pattern)
    texts, names = parts[::3], [one or other for one, other in zip(parts[1::3], parts[2::3], strict=True)]
    for chosen in itertools.product(*(values[name] for name in names)):
        yield "".join(itertools.chain.from_iterable(itertools.zip_longest(texts, chosen, fillvalue="")))


def addresses(values: Mapping[str, Sequence[str]] = VALUES) -> list[str]:
    """Return every address that can be asked for."""
    patterns = [*pages(), *(path for method, path in api_routes() if method == "GET")]
    static = ["/static/style.css", "/static/join.js", "/nothing/here", "/api/v1/nothing"]
    return [*static, *itertools.chain.from_iterable(filled(pattern, values) for pattern in patterns)]
