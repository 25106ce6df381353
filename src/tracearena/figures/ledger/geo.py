"""What [geo-ind] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Between, Cell, Drawn, Near, Row, Stated, cell

_GEOLIFE = "the whole of GeoLife: here are 11 of its 39 users, and 0.3 of 2 million points"
_SAMPLE = "--data geolife-sample.tar.gz"
_3, _5, _6 = (f"figure geo-{number} {_SAMPLE}" for number in (3, 5, 6))


def _offloaded(noise_m: int, *, updated: bool) -> Cell:
    column = "offloaded_after_update" if updated else "offloaded"
    return cell("geo-3.csv", column, expected_noise_m=str(noise_m))


def _reached(noise_m: int, window: str = "independent") -> Cell:
    return cell("geo-5.csv", "infection_rate", window_s=window, expected_noise_m=str(noise_m))


ROWS: tuple[Row, ...] = (
    Row(
        "Figure 2",
        "one trajectory as it was, under independent noise, and under noise that keeps for a while",
        f"figure geo-2 {_SAMPLE}",
        (Drawn("geo-2"),),
        "a picture",
    ),
    Row(
        "Figure 3, section 5.1",
        "hotspots chosen from noisy data still offload most of the traffic",
        _3,
        (
            Near("250 m", _offloaded(250, updated=False), 0.96, 0.03),
            Near("500 m", _offloaded(500, updated=False), 0.95, 0.05),
            Near("1,000 m", _offloaded(1000, updated=False), 0.89, 0.05),
        ),
        "0.96; above 0.95; 0.89, of all of GeoLife",
    ),
    Row(
        "Figure 3, section 5.1",
        "the Bayesian update wins back part of what noise costs, at every noise",
        _3,
        (Stated("the update wins back part"),),
        "2 points on average",
    ),
    Row(
        "Figure 3, section 5.1",
        "after the update",
        _3,
        (
            Near("250 m", _offloaded(250, updated=True), 0.98, 0.03),
            Near("1,000 m", _offloaded(1000, updated=True), 0.93, 0.03),
        ),
        "0.98; 0.93",
    ),
    Row("Figure 3", "the levels of the paper's own cut: 62,230 cells, k = 19,696", missing=_GEOLIFE),
    Row(
        "Figure 4",
        "noise blurs the map and the update sharpens it again",
        f"figure geo-4 {_SAMPLE}",
        (Stated("noise blurs the map"),),
        "heat maps",
    ),
    Row(
        "Figure 5, section 5.2",
        "gossip reaches more people in noisy traces, and more with more noise",
        _5,
        (
            Stated("independent noise makes people meet"),
            Between("1,000 m", _reached(1000), least=_reached(50)),
        ),
        "0.40 without noise, rising with it",
    ),
    Row("Figure 5", "the baseline of 40 % among 39 users", missing=_GEOLIFE),
    Row(
        "Figure 6, section 5.3",
        "a classifier tells people apart in noisy trajectories",
        _6,
        (Stated("100 m of noise do not hide"),),
        "47.3 % and 48.8 % right of 10 targets and others",
    ),
)
