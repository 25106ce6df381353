"""How a command explains itself: its own options first, those of every reading command after them."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand


class Sectioned(TyperCommand):
    """A command whose options stand under the panels they are declared with, without Rich."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options, and then a section for every panel."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(panel, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def in_sections(app: typer.Typer) -> None:
    """Let every command of an application and of its groups show its options in sections."""
    for info in app.registered_commands:
        if not issubclass(info.cls or TyperCommand, Sectioned):
            info.cls = Sectioned
    for group in app.registered_groups:
        if group.typer_instance is not None:
            in_sections(group.typer_instance)
