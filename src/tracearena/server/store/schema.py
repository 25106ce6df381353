"""Whether the tables of a contest are those of this version of tracearena."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tracearena.errors import DataError
from tracearena.server.store.folder import Folder


def missing() -> list[str]:
    """Return what must be applied before this version can use the database, in order."""
    executor = _executor()
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{one.app_label}.{one.name}" for one, _ in plan]


def require_current(folder: Folder) -> None:
    """Refuse a database whose tables are of another version, and say what to do."""
    require_not_newer(folder)
    if missing():
        raise DataError(
            f"{folder.path}: was made by an older version of tracearena; bring its database up to date: "
            f"tracearena contest upgrade {folder.path} BACKUP.tar"
        )


def require_not_newer(folder: Folder) -> None:
    """Refuse a database whose tables this version does not know."""
    loader = _executor().loader
    unknown = set(loader.applied_migrations) - set(loader.disk_migrations)
    if unknown:
        names = ", ".join(sorted(".".join(one) for one in unknown))
        raise DataError(
            f"{folder.path}: was used by a newer version of tracearena, which knows {names}; install that one"
        )


def stored_tables() -> dict[str, Any]:
    """Return the tables of the contest as they are in the database now, by name, of whatever version."""
    loader = _executor().loader
    apps = loader.project_state(list(loader.applied_migrations)).apps
    models = [*apps.get_app_config("contest").get_models(), *apps.get_app_config("sessions").get_models()]
    return {model._meta.db_table: model for model in models}


def apply() -> None:
    """Give the database the tables of this version; each step is made whole or not at all."""
    call_command("migrate", verbosity=0)


def _executor() -> Any:
    return MigrationExecutor(connection)
