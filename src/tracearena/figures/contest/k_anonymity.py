"""[contest] sections 1 and 5.2: what k-anonymity of traces hides, and what it does not.

The paper argues against k-anonymity without a figure: nobody is re-identified with more than 1/k, but where
the k are alike their whereabouts are told all the same (the homogeneity attack), and where they are not,
long traces lose their use. All three are measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import run_sweep, succeeded
from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import SeedLike, generator, tracked
from tracearena.figures.data import Size, Source, Team, teams
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import correlation_of, write_records
from tracearena.obfuscation.k_anonymity import KAnonymous, equal_groups
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.traces import Traces

PEOPLE = Size(500, 10)
KS = (2, 3, 5, 10, 20, 50)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
TOGETHER = 10
"""How many people share their days in the second panel, and the k that hides them there."""
FALLS = -0.9
ATTACKS = ("samples", "FuzzyCount-R", "Replay-T")
"""Attackers who read the release, and one who goes by habits alone."""


class Point(NamedTuple):
    """One release: how alike people are made, how many traces are equal, and what attackers leave.

    Attributes
    ----------
    together
        Share of the times of day at which ten people are made to be where the first of them is.
    homogeneity
        Share of the events at which a person is where the common trace of her group is.
    identified, known
        Share of people identified by whoever knows the reference, and the originals themselves.
    chance
        Standard deviation of a share that is found by guessing within the groups.
    s_T, habits
        What is left by the strongest trace inference that reads the release, and by habits alone.
    """

    together: float
    k: int
    homogeneity: float
    s_U: float
    identified: float
    known: float
    chance: float
    s_T: float
    habits: float


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    ks: Sequence[int] = KS,
    shares: Sequence[float] = SHARES,
) -> list[Path]:
    """Write contest-k-anonymity.svg and contest-k-anonymity.csv."""
    (team,) = teams(replace(source, size=source.sized(PEOPLE)))
    work = [*((0.0, k) for k in ks), *((share, TOGETHER) for share in shares)]
    points = [
        measured(companions(team, TOGETHER, share, source.seed), share, k, source.seed)
        for share, k in tracked(work, len(work))
    ]
    over_k, over_share = points[: len(ks)], sorted(points[len(ks) :], key=lambda point: point.homogeneity)
    found = findings(over_k, over_share)
    announce(found, tell)
    rows = [point._asdict() for point in points]
    return [
        _draw(out / "contest-k-anonymity.svg", over_k, over_share, found),
        write_records(out / "contest-k-anonymity.csv", rows),
    ]


def companions(team: Team, together: int, share: float, seed: SeedLike) -> Team:
    """Make people alike: at some times of the day every so many people are where the first of them is.

    The times are the same on all days, so that people stay as regular as they were.

    >>> from tracearena.figures.data import Source
    >>> (team,) = teams(Source(size=Size(4, 1)))
    >>> one = companions(team, 2, 1.0, 1).original.dense()
    >>> bool((one[0] == one[1]).all() and (one[2] == one[3]).all())
    True
    """
    times = team.original.clock.instants_per_day
    shared = generator(seed).permutation(times)[: round(share * times)]
    return Team(*(_alike(traces, together, shared) for traces in team))


def _alike(traces: Traces, together: int, shared: NDArray[np.int64]) -> Traces:
    first = traces.user_index // together * together
    led = traces.dense()[first, traces.instants - traces.span[0]]
    follows = np.isin(traces.clock.time_of_day(traces.instants), shared) & (led >= 0)
    return traces.with_places(np.where(follows, led, traces.place_index))


def measured(team: Team, share: float, k: int, seed: int) -> Point:
    """Release a team k-anonymously, and attack it with what attackers know and with all there is to know."""
    chosen = {"defences": [f"KAnonymous({k})"], "seed": seed}
    (partial,) = succeeded(run_sweep(*team, attacks=ATTACKS, **chosen))  # type: ignore[arg-type]
    (known,) = succeeded(run_sweep(*team, attacks=["samples"], knowledge="maximum", **chosen))  # type: ignore[arg-type]
    assert partial.utility is not None
    assert known.scores.s_R_min is not None
    left = dict(partial.scores.trace_inference)
    habits = left.pop("Replay-T")
    s_R = min(partial.scores.reidentification.values())
    released = KAnonymous(k=k).transform(team.original)
    alike = float((released.codes == team.original.place_index).mean())
    groups = int(equal_groups(team.original, k).max()) + 1
    chance = groups**0.5 / team.original.n_users
    return Point(
        share,
        k,
        alike,
        partial.utility,
        1 - s_R,
        1 - known.scores.s_R_min,
        chance,
        min(left.values()),
        habits,
    )


def findings(over_k: Sequence[Point], over_share: Sequence[Point]) -> list[Finding]:
    """Test what [contest] says of k-anonymity.

    Nobody is re-identified with more than 1/k (section 1): the shares found may be three standard
    deviations of a guess above it. But it is "vulnerable to attribute (location) inference" (section 4.2)
    where members are alike: s_T must fall with homogeneity (R below -0.9), and end below a fifth of
    where it began. And it "requires too much noise for long traces" (section 5.2): s_U stays below 0.7.
    """
    everywhere = [*over_k, *over_share]
    first, last = over_share[0].s_T, over_share[-1].s_T
    fall = correlation_of([(point.homogeneity, point.s_T) for point in over_share])
    best = max(point.s_U for point in over_k)
    return [
        counted(
            "k-anonymity lets at most one in k be re-identified, whatever is known",
            [max(point.identified, point.known) <= 1 / point.k + 3 * point.chance for point in everywhere],
            "releases stay within three standard deviations of 1/k",
        ),
        Finding(
            "it does not prevent trace inference where people are alike",
            fall < FALLS and last < first / 5,
            f"s_T,min goes from {first:.3f} to {last:.3f} with homogeneity, R = {fall:.3f}",
            fall,
        ),
        Finding(
            "long traces lose their use to it",
            best < 0.7,
            f"s_U {best:.3f} at best, a contest takes 0.7",
            best,
        ),
    ]


def _draw(path: Path, over_k: Sequence[Point], over_share: Sequence[Point], found: Sequence[Finding]) -> Path:
    lines = (
        ("identified", "share identified"),
        ("known", "share identified by who knows the originals"),
        ("s_T", "s_T,min of who reads the release (1 = no place found)"),
        ("habits", "the same by habits alone"),
        ("s_U", "utility s_U"),
    )
    with canvas(12, 4.8, ncols=2) as (figure, (left, right)):
        for axes, points, field in ((left, over_k, "k"), (right, over_share, "homogeneity")):
            at = [getattr(point, field) for point in points]
            for number, (name, label) in enumerate(lines):
                values = [getattr(point, name) for point in points]
                style = {"color": COLOURS[number], "marker": MARKERS[number].matplotlib}
                axes.plot(at, values, label=label, **style)
            axes.plot(at, [1 / point.k for point in points], ":", color="black", label="1/k")
            axes.set(ylim=(-0.03, 1.03), ylabel="share, or score")
        left.set(xscale="log", xlabel="traces that are equal, k")
        left.set_xticks([point.k for point in over_k], [str(point.k) for point in over_k], minor=False)
        left.minorticks_off()
        left.set_title("traces of unchanged people", fontsize=10, loc="left")
        right.set_xlabel("homogeneity: share of events equal to the group trace")
        right.set_title(f"traces of people made alike, k = {TOGETHER}", fontsize=10, loc="left")
        lines_of = left.get_legend_handles_labels()
        figure.legend(*lines_of, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.0))
        head(figure, "k-anonymity of whole traces", found)
        return save(figure, path)
