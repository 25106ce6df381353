"""How the contest names its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import PurePath

from tracearena.checks import require_choice, require_whole
from tracearena.errors import ParameterError

KINDS = ("reftraces", "orgtraces", "anotraces", "pubtraces", "ptable", "etable", "etraces")
_ATTACKS = ("etable", "etraces")
_DATA = {"IDP": "01", "TRP": "02"}
_NAME = re.compile(
    rf"({'|'.join(KINDS)})_team(?:([0-9]{{3}})-)?([0-9]{{3}})_data([0-9]{{2}})_(IDP|TRP)\.csv(?:\.gz)?"
)


@dataclass(frozen=True, kw_only=True)
class PwsName:
    """The name of a file: its kind, whose data it is, and what the data is defended against.

    Attributes
    ----------
    kind
        One of `KINDS`.
    team
        The team whose traces these are, 0 to 999; 0 is the organiser.
    purpose
        ``IDP`` (against re-identification, data 01) or ``TRP`` (against trace inference, data 02).
    attacker
        The attacking team, for etable and etraces only.

    Examples
    --------
    >>> name = PwsName.parse("etable_team020-001_data01_IDP.csv")
    >>> name.attacker, name.team, name.purpose
    (20, 1, 'IDP')
    >>> str(PwsName(kind="orgtraces", team=1, purpose="TRP"))
    'orgtraces_team001_data02_TRP.csv'
    """

    kind: str
    team: int
    purpose: str
    attacker: int | None = None

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, KINDS)
        require_choice("purpose", self.purpose, _DATA)
        if (self.attacker is not None) != (self.kind in _ATTACKS):
            raise ParameterError("etable and etraces name an attacking team, the other files none")
        for name in ("team", "attacker"):
            value = getattr(self, name)
            if value is not None:
                require_whole(name, value, at_least=0, at_most=999)

    @classmethod
    def parse(cls, path: str | PathLike[str]) -> PwsName:
        """Take the name of a file apart; folders and a final ``.gz`` do not matter."""
        name = PurePath(path).name
        match = _NAME.fullmatch(name)
        if match is None or _DATA[match[5]] != match[4]:
            allowed = "like orgtraces_team001_data01_IDP.csv or etable_team020-001_data02_TRP.csv"
            raise ParameterError.of("file name", name, allowed)
        attacker = None if match[2] is None else int(match[2])
        return cls(kind=match[1], team=int(match[3]), purpose=match[5], attacker=attacker)

    def __str__(self) -> str:
        teams = f"{self.team:03d}" if self.attacker is None else f"{self.attacker:03d}-{self.team:03d}"
        return f"{self.kind}_team{teams}_data{_DATA[self.purpose]}_{self.purpose}.csv"
