"""A small contest for every test that wants one, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server import postgresql

from tracearena.cities import simulate
from tracearena.contest import ContestFile, ContestPlan, Schedule, contest_training, write_contest_data
from tracearena.server import clock
from tracearena.server.operations import create as creation
from tracearena.server.operations.create import ContestLinks, create_contest
from tracearena.server.settings import configure
from tracearena.server.store.crypto import read_judge_key, write_judge_key
from tracearena.server.store.folder import Folder, Secrets
from tracearena.synthesis import PPMTF

BEGIN = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEDULE = Schedule(
    anonymization_begin=BEGIN + DAY,
    anonymization_end=BEGIN + 8 * DAY,
    attack_begin=BEGIN + 9 * DAY,
    attack_end=BEGIN + 16 * DAY,
    results_begin=BEGIN + 17 * DAY,
)
USERS, DAYS, TEAMS = 20, 4, 3
TEMPLATE = "contest_template"


ON_BOTH = {
    "test_backup", "test_broken_databases", "test_creation", "test_jobs", "test_judging",
    "test_moving_databases", "test_upgrading", "test_uploads_at_once", "test_wrong_clocks",
}  # fmt: skip
"""Tests that are about what a database does. All others run on PostgreSQL in `make test-long`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hold contests on SQLite in everyday tests, and on PostgreSQL where the database is what is tested."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if parameters.get("database") == "postgresql":
            item.add_marker(pytest.mark.slow if item.path.stem in ON_BOTH else pytest.mark.long)


@dataclass
class Held:
    """A contest that a test holds: its folder, its clock, its secrets."""

    folder: Folder
    created: ContestLinks
    judge_key: Path
    clock_file: Path
    database: str | None

    @property
    def judge_private_key(self) -> bytes:
        """What only the judge has."""
        return read_judge_key(self.judge_key)

    def at(self, moment: datetime) -> None:
        """Put the clock to a moment."""
        clock.set_driven(self.clock_file, moment)

    def anonymization(self) -> None:
        """Go into the middle of the anonymization phase."""
        self.at(SCHEDULE.anonymization_begin + DAY)

    def attack(self) -> None:
        """Go into the middle of the attack phase."""
        self.at(SCHEDULE.attack_begin + DAY)

    def results(self) -> None:
        """Go to the results."""
        self.at(SCHEDULE.results_begin + DAY)


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A server of PostgreSQL; tests are skipped, with a sentence that helps, where there is none."""
    if postgresql.binaries() is None:
        pytest.skip(postgresql.MISSING)
    with postgresql.running() as url:
        yield url


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Contests by files, with the rules asked for; each is made once."""
    made: dict[str, Path] = {}
    city = simulate(users=40, days=2, seed=1)
    model = PPMTF(factors=2, iterations=3).fit(contest_training(city), seed=1)

    def make(**rules: Any) -> Path:
        key = repr(sorted(rules.items()))
        if key not in made:
            teams = rules.pop("teams", TEAMS)
            data_sets = rules.get("data_sets", 1)
            plan = ContestPlan(teams=teams, users=USERS, days=DAYS, data_sets=data_sets, sample_teams=1)
            charter = ContestFile(
                name="Test <contest>", teams=teams, rules=replace(plan.rules(), **rules), schedule=SCHEDULE
            )
            folder = tmp_path_factory.mktemp("prepared") / "files"
            write_contest_data(folder, model, plan, charter=charter, seed=1, shuffle_seed=1)
            made[key] = folder
        return made[key]

    return make


def _with_tables(path: Path, url: str | None) -> Folder:
    """Make tables in an empty database, as a new contest does."""
    from django.core.management import call_command
    from django.db import connections

    folder = Folder(path)
    folder.make()
    folder.write_secrets(Secrets("none", "", url))
    configure(folder)
    call_command("migrate", verbosity=0)
    connections.close_all()
    return folder


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables and nothing in them: making them takes longer than most tests."""
    return _with_tables(tmp_path_factory.mktemp("template"), None).database


@pytest.fixture(scope="session")
def postgresql_template(postgresql_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same on PostgreSQL: the name of a database to copy."""
    import psycopg

    with psycopg.connect(f"{postgresql_url}postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{TEMPLATE}"')
    _with_tables(tmp_path_factory.mktemp("template"), f"{postgresql_url}{TEMPLATE}")
    return TEMPLATE


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """An empty database: None for SQLite in the folder, or a URL; it has its tables if a contest is held."""
    if request.param == "sqlite":
        yield None
        return
    import psycopg

    base = request.getfixturevalue("postgresql_url")
    is_held = "holding" in request.fixturenames
    template = request.getfixturevalue("postgresql_template") if is_held else "template0"
    name = f"contest_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(f"{base}postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    yield f"{base}{name}"
    from django.db import connections

    connections.close_all()
    with psycopg.connect(f"{base}postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _created(place: Path, files: Path, database: str | None) -> ContestLinks:
    """Make a contest and the judge's key in a folder, with the clock at the beginning."""
    clock.set_driven(place / "clock", BEGIN)
    public = write_judge_key(place / "judge-key", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(clock.VARIABLE, str(place / "clock"))
        return create_contest(place / "contest", files, judge_public_key=public, database=database)


@pytest.fixture(scope="session")
def in_sqlite(
    prepared: Callable[..., Path], sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, ContestLinks]]:
    """Contests in SQLite with the rules asked for, to be copied; each is made once."""
    made: dict[str, tuple[Path, ContestLinks]] = {}

    def configure_with_tables(folder: Folder) -> None:
        shutil.copy(sqlite_template, folder.database)
        configure(folder)

    def make(**rules: Any) -> tuple[Path, ContestLinks]:
        from django.db import connections

        key = repr(sorted(rules.items()))
        if key not in made:
            place = tmp_path_factory.mktemp("in_sqlite")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(creation, "configure", configure_with_tables)
                made[key] = place, _created(place, prepared(**rules), None)
            connections.close_all()
        return made[key]

    return make


@pytest.fixture
def holding(
    tmp_path: Path,
    prepared: Callable[..., Path],
    database: str | None,
    in_sqlite: Callable[..., tuple[Path, ContestLinks]],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Held]:
    """Makes contests with the rules asked for, their clock driven and a day before the start."""

    def hold(**rules: Any) -> Held:
        if database is None:
            made, created = in_sqlite(**rules)
            shutil.copytree(made, tmp_path, dirs_exist_ok=True)
        else:
            created = _created(tmp_path, prepared(**rules), database)
        monkeypatch.setenv(clock.VARIABLE, str(tmp_path / "clock"))
        folder = Folder(tmp_path / "contest")
        configure(folder)
        return Held(folder, created, tmp_path / "judge-key", tmp_path / "clock", database)

    return hold


@pytest.fixture
def held(holding: Callable[..., Held]) -> Held:
    """A contest with the usual rules."""
    return holding()


@pytest.fixture
def password_kib() -> int | None:
    """Memory for the hash of a password: next to none, or None for what a server takes."""
    return 8


@pytest.fixture(autouse=True)
def quick_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: no test cuts the power."""
    monkeypatch.setattr(os, "fsync", os.fstat)


@pytest.fixture(autouse=True)
def quick_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients load no certificates: no test goes by HTTPS."""
    monkeypatch.setenv("SSL_CERT_DIR", os.devnull)


@pytest.fixture(autouse=True)
def quick_passwords(password_kib: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Argon2 take next to no memory, where a password is not what is tested."""
    from tracearena.server.accounts import Argon2

    if password_kib is not None:
        monkeypatch.setattr(Argon2, "memory_cost", password_kib)
