"""What no paper says, and the figures of our own show."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Drawn, Row, Stated

ROWS: tuple[Row, ...] = (
    Row(
        "arena-attacks",
        "the attacks of today are at least as strong as those of 2019 on every defence",
        "figure arena-attacks",
        (Stated("in re-identification the new attacks"), Stated("in trace inference the new attacks")),
    ),
    Row(
        "arena-attacks",
        "the attacks of 2019 make some defences look better than any can be",
        "figure arena-attacks",
        (Stated("the attacks of 2019 make"),),
    ),
    Row(
        "arena-defences",
        "one of the valid defences is the best against both kinds of attack",
        "figure arena-defences",
        (Stated("of the valid defences one is the best"),),
    ),
    Row("city-map", "the embedded city on a map", "figure city-map", (Drawn("city-map"),)),
    Row("city-laws", "how its people move, beside published laws", "figure city-laws", (Drawn("city-"),)),
    Row(
        "contest-people",
        "virtual users live as people of the same team who were held out",
        "figure contest-people --data pwscup2019-osaka",
        (Stated("virtual users live as the people of the same team"),),
        note="of 1,000 people too few moves are known: "
        "[what is missed](virtual-users.md#beside-the-official-team)",
    ),
)
