"""The page that describes the API, made of its OpenAPI description."""

from __future__ import annotations

from typing import Any

from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.server.api.routes import api


@require_safe
def api_page(request: Any) -> Any:
    """Every route of the API with what it takes and gives."""
    described = api.get_openapi_schema()
    routes = [
        {"path": path, "method": method.upper(), **about}
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    return render(request, "api.html", {"routes": routes, "url": request.build_absolute_uri("/api/v1")})
