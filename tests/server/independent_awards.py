"""The awards of an archive, worked out again by the sentences of the rules alone.

Nothing of tracearena is used here: files are read with `csv`, numbers added with `fsum`. The archive is of
a sealed contest with one data set a team.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
import zipfile
from typing import Any

KM_PER_DEGREE = (111.0, 91.0)
_NAME = re.compile(r"(e(?:table|traces))_team(?:(\d{3})-)?(\d{3})_data01_IDP\.csv", re.ASCII)


class Contest:
    """What is in the archive, as rows of text."""

    def __init__(self, path: Any) -> None:
        self._zip = zipfile.ZipFile(path)
        self.names = self._zip.namelist()
        charter = tomllib.loads(self._zip.read("contest.toml").decode())
        self.rules = charter["rules"]
        self.teams = [f"{number:03d}" for number in range(1, charter["teams"] + 1)]
        regions = self.rows("judge/info_region.csv")
        self.centre = {row["reg_id"]: (float(row["y(center)"]), float(row["x(center)"])) for row in regions}
        self.sensitive = {row["reg_id"] for row in regions if row["hospital"] == "1"}

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a CSV file."""
        return list(csv.DictReader(io.StringIO(self._zip.read(name).decode())))

    def column(self, name: str, column: str) -> list[str]:
        """Return one column of a CSV file."""
        return [row[column] for row in self.rows(name)]

    def true_places(self, team: str) -> list[str]:
        """Return where the people of a team were."""
        return self.column(f"judge/orgtraces_team{team}_data01_IDP.csv", "reg_id")

    def loss(self, one: str, other: str, limit_km: float) -> float:
        """Return how far two regions are apart, 1 being the limit or more."""
        (y1, x1), (y2, x2) = self.centre[one], self.centre[other]
        distance = math.hypot((y1 - y2) * KM_PER_DEGREE[0], (x1 - x2) * KM_PER_DEGREE[1])
        return min(distance / limit_km, 1.0)

    def last(self, wanted: str) -> str | None:
        """Return the file of a name that came last."""
        came = {row["file"]: row["received"] for row in self.rows("submissions/received.csv")}
        found = [file for file in came if file.rpartition("/")[2] == wanted]
        return f"submissions/{max(found, key=lambda file: came[file])}" if found else None


def utility(contest: Contest, team: str) -> float | None:
    """Return the utility of what a team handed in last; every cell is a set of places, one or *."""
    name = contest.last(f"anotraces_team{team}_data01_IDP.csv")
    if name is None:
        return None
    limit, losses = contest.rules["utility_limit_km"], []
    for true, cell in zip(contest.true_places(team), contest.column(name, "reg_id"), strict=True):
        if cell == "*":
            losses.append(1.0)
            continue
        (y, x), shares = contest.centre[true], []
        for listed in cell.split():
            y2, x2 = contest.centre[listed]
            shares.append(math.hypot((y - y2) * KM_PER_DEGREE[0], (x - x2) * KM_PER_DEGREE[1]) / limit)
        losses.append(min(math.fsum(shares) / len(shares), 1.0))
    return 1 - math.fsum(losses) / len(losses)


def score(contest: Contest, kind: str, name: str, target: str) -> float:
    """Return the privacy that an attack leaves."""
    if kind == "etable":
        truth = contest.column(f"judge/ptable_team{target}_data01_IDP.csv", "user_id")
        guess = contest.column(name, "user_id")
        return sum(one != other for one, other in zip(truth, guess, strict=True)) / len(truth)
    limit, weight = contest.rules["inference_limit_km"], contest.rules["sensitive_weight"]
    places = list(zip(contest.true_places(target), contest.column(name, "reg_id"), strict=True))
    weights = [weight if true in contest.sensitive else 1.0 for true, _ in places]
    lost = [w * contest.loss(*pair, limit) for w, pair in zip(weights, places, strict=True)]
    return math.fsum(lost) / math.fsum(weights)


def scores(contest: Contest, targets: list[str]) -> dict[tuple[str, str, str], float]:
    """Return the score of every attack that counts, by kind, attacker and target; 000 is the judge."""
    found = {}
    for kind in ("etable", "etraces"):
        for target in targets:
            for attacker in contest.teams:
                name = contest.last(f"{kind}_team{attacker}-{target}_data01_IDP.csv")
                if name is not None and attacker != target:
                    found[kind, attacker, target] = score(contest, kind, name, target)
            for name in contest.names:
                match = _NAME.fullmatch(name.rpartition("/")[2])
                if name.startswith("judge/answers/") and match and (match[1], match[3]) == (kind, target):
                    found[kind, name.split("/")[2], target] = score(contest, kind, name, target)
    return found


def awards(path: Any) -> dict[str, list[str]]:
    """Return the winners of every award."""
    contest = Contest(path)
    threshold = contest.rules["utility_threshold"]
    useful = {team: utility(contest, team) for team in contest.teams}
    valid = [team for team, value in useful.items() if value is not None and value >= threshold]
    targets = ["000", *valid]
    found = scores(contest, targets)
    kept = {
        team: min(
            [
                1.0,
                *(value for (kind, _, target), value in found.items() if (kind, target) == ("etraces", team)),
            ]
        )
        for team in valid
    }
    won = {"best-anonymization": _best(kept, max)}
    for name, kind in (("best-reidentification", "etable"), ("best-trace-inference", "etraces")):
        sums = {
            team: math.fsum(found.get((kind, team, target), 1.0) for target in targets if target != team)
            for team in contest.teams
            if any((kind, team, target) in found for target in targets)
        }
        won[name] = _best(sums, min)
    return won


def _best(values: dict[str, float], choose: Any) -> list[str]:
    best = choose(values.values(), default=None)
    return sorted(team for team, value in values.items() if abs(value - best) < 1e-9)
