"""[sglt] Figure 9: privacy and overhead of hiding among fakes from a location-based service."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from tracearena.arena import ServiceResult, hide_from_service, location_classes
from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.arena.experiments import KNOWLEDGE
from tracearena.attacks.viterbi import ViterbiTracking
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.data import Size, Source, classes_of, same_people
from tracearena.figures.style import canvas, head, save
from tracearena.files import write_csv
from tracearena.obfuscation.fakes import METHODS, FakeTraces
from tracearena.pages.html import COLOURS, MARKERS

SIZE = Size(150)
COUNTS = (5, 10, 20)
EXPOSURE = 0.3
_NAMES = {
    "sglt": "SGLT",
    "uniform": "uniform, each instant by itself",
    "aggregate": "as everybody visits, each instant by itself",
    "walk": "walk as everybody moves",
    "own-walk": "walk as the user herself moves (betrays her profile)",
}
_STYLES = {"population": "-", "generator": ":"}
"""What the attacker knows, and how his line is drawn."""
NEARLY = 0.9
"""Share of SGLT's privacy from which another generator is nearly as good."""
_OVERHEADS = {
    "distinct_places": "different places sent at once",
    "distinct_classes": "different classes sent at once",
}


def make(out: Path, source: Source, tell: Tell | None, *, counts: Sequence[int] = COUNTS) -> list[Path]:
    """Write sglt-lbs.png and .csv: five generators with 5, 10 and 20 fakes."""
    results = service_results(source, counts)
    said = findings(results)
    announce(said, tell)
    with canvas(10.5, 4.8, ncols=2, sharey=True) as (figure, axes):
        figure.set_layout_engine("constrained")
        for axis, (overhead, label) in zip(axes, _OVERHEADS.items(), strict=True):
            for number, method in enumerate(METHODS):
                for knows, style in _STYLES.items():
                    mine = [one for one in results if (one.method, one.attacker) == (method, knows)]
                    axis.plot(
                        [getattr(one, overhead) for one in mine],
                        [one.privacy for one in mine],
                        style,
                        marker=MARKERS[number].matplotlib,
                        color=COLOURS[number],
                        label=_NAMES[method] if knows == "population" else None,
                    )
            axis.set_xlabel(f"{label} (1 is free)")
        axes[0].set(ylim=(0, 1.03), ylabel="share of places missed by the attacker\n(1 is best)")
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            frameon=False,
            fontsize=8,
        )
        head(
            figure,
            f"Privacy against overhead, with {', '.join(map(str, counts))} fakes; "
            "dotted: the attacker knows the generator",
            said,
            width=125,
            top=1.01,
        )
        picture = save(figure, out / "sglt-lbs.png")
    rows = [one.to_dict().values() for one in results]
    return [picture, write_csv(out / "sglt-lbs.csv", list(results[0].to_dict()), rows)]


def findings(results: Sequence[ServiceResult]) -> list[Finding]:
    """Compare SGLT with every other generator at the same number of fakes.

    [sglt]: semantic fakes hide a person best, at a lower overhead. More privacy, and fewer
    different places and classes sent at once, than every other generator at every number of fakes.
    """
    ours = {one.fakes: one for one in results if one.method == "sglt" and one.attacker == "population"}
    others = [one for one in results if one.method != "sglt" and one.attacker == "population"]
    return [
        counted(
            "fakes that mean something hide a person better",
            [ours[one.fakes].privacy > one.privacy for one in others],
            "comparisons with other fakes have more privacy",
        ),
        *(
            counted(
                f"fakes that mean something need fewer {label}",
                [getattr(ours[one.fakes], name) < getattr(one, name) for one in others],
                "comparisons with other fakes need fewer",
            )
            for name, label in _OVERHEADS.items()
        ),
        *_own_walk_finding(ours, others),
        *_knowing_findings(results, ours),
    ]


def _own_walk_finding(ours: dict[int, ServiceResult], others: Sequence[ServiceResult]) -> list[Finding]:
    """[sglt]: a walk by one's own profile gets near SGLT's privacy. Here near is nine tenths of it."""
    walks = [one for one in others if one.method == "own-walk"]
    shares = [one.privacy / max(ours[one.fakes].privacy, 1e-9) for one in walks]
    if not shares:
        return []
    best = walks[shares.index(max(shares))]
    return [
        Finding(
            "a walk by one's own profile is nearly as good",
            max(shares) >= NEARLY,
            f"at best {best.privacy:.2f} against {ours[best.fakes].privacy:.2f}, it takes {NEARLY:.0%}",
            max(shares),
        )
    ]


def _knowing_findings(results: Sequence[ServiceResult], ours: dict[int, ServiceResult]) -> list[Finding]:
    """Ask whether SGLT's privacy outlives an attacker who knows the generator, which [sglt] does not try."""
    known = [one for one in results if one.method == "sglt" and one.attacker == "generator"]
    if not known:
        return []
    kept = min(one.privacy / max(ours[one.fakes].privacy, 1e-9) for one in known)
    said = ", ".join(f"{one.privacy:.2f} against {ours[one.fakes].privacy:.2f}" for one in known)
    return [Finding("fakes hide a person from who knows their generator", kept >= NEARLY, said, kept)]


def service_results(source: Source, counts: Sequence[int] = COUNTS) -> list[ServiceResult]:
    """Let the same people hide in five ways with several numbers of fakes."""
    training, original = same_people(source, SIZE)
    if source.data is not None:
        # Published testing traces are of other people, who have no fakes of their own.
        original = training
    root = seed_sequence(source.seed)
    classes = location_classes(training, classes_of(training), seed=child_seed(root, 0))
    attacker = ViterbiTracking().fit(training)
    results: list[ServiceResult] = []
    settings = list(product(METHODS, counts, KNOWLEDGE))
    for method, count, knows in tracked(settings, len(settings)):
        defence = FakeTraces(method=method, fakes=count, exposure=EXPOSURE, classes=len(classes))
        given = attacker if knows == "population" else None
        results.append(
            hide_from_service(
                training, original, defence, classes, attacker=given, knows=knows, seed=child_seed(root, 1)
            )
        )
    return results
