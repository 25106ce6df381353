"""What [samples] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Near, Row, cell

_OSAKA = "figure samples-4 --data pwscup2019-osaka"
_TABLE = "samples-4.csv"

ROWS: tuple[Row, ...] = (
    Row(
        "Figure 4 (i)",
        "what is strong against re-identification need not be strong against trace inference: shuffling",
        _OSAKA,
        (
            Near("Cheat(1): s_I,min", cell(_TABLE, "s_R_min", defence="Cheat(1)"), 0.9995, 0.005),
            Near("s_T,min", cell(_TABLE, "s_T_min", defence="Cheat(1)"), 0.7893, 0.02),
            Near("no defence: s_T,min", cell(_TABLE, "s_T_min", defence="No"), 0.7810, 0.02),
        ),
        "0.9995; 0.789; 0.781",
    ),
    Row(
        "Figure 4 (i)",
        "levels of a merged, a randomised and a noisy release",
        _OSAKA,
        (
            Near("MRLH(1,1,0.2): s_I,min", cell(_TABLE, "s_R_min", defence="MRLH(1,1,0.2)"), 0.934, 0.02),
            Near("s_T,min", cell(_TABLE, "s_T_min", defence="MRLH(1,1,0.2)"), 0.854, 0.02),
            Near("RR(8): s_I,min", cell(_TABLE, "s_R_min", defence="RR(8)"), 0.9035, 0.02),
            Near("s_T,min", cell(_TABLE, "s_T_min", defence="RR(8)"), 0.849, 0.02),
            Near("PL(4,1): s_I,min", cell(_TABLE, "s_R_min", defence="PL(4,1)"), 0.9635, 0.02),
            Near("s_T,min", cell(_TABLE, "s_T_min", defence="PL(4,1)"), 0.858, 0.02),
        ),
        "0.934; 0.854; 0.904; 0.849; 0.964; 0.858",
    ),
    Row(
        "Figure 4 (ii)",
        "with a threshold of 0.7 the strongest releases drop out: PL(4,1) stays, PL(3,1) does not",
        _OSAKA,
        (
            Near("PL(4,1): s_U", cell(_TABLE, "utility", defence="PL(4,1)"), 0.7546, 0.005),
            Near("PL(3,1): s_U", cell(_TABLE, "utility", defence="PL(3,1)"), 0.6746, 0.005),
        ),
        "0.755; 0.675",
    ),
)
