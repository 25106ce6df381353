"""What [geo-ind] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Between, Cell, Drawn, Near, Row, Stated, cell

_GEOLIFE = "the whole of GeoLife: here are 11 of its 39 users, and 0.3 of 2 million points"
_SAMPLE = "--data geolife-sample.tar.gz"
_PYTORCH = "PyTorch (extra `neural`), which the machine of these runs does not have"
_3, _5, _6 = (f"figure geo-{number} {_SAMPLE}" for number in (3, 5, 6))


def _offloaded(noise_m: int, *, updated: bool, grid: str = "clipped", of: str = "offloaded") -> Cell:
    column = f"{of}_after_update" if updated else of
    return cell("geo-3.csv", column, grid=grid, expected_noise_m=str(noise_m))


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
        note="at 100 m, where little is lost, it wins on one run of three; 1.3 to 3.5 points from 250 m on",
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
    Row(
        "Figure 3, section 5.1",
        "the same on a grid that goes on for 5 km around the area, where what noise carries out is not "
        "heaped on the border",
        _3,
        (
            Near("250 m", _offloaded(250, updated=True, grid="margin"), 0.98, 0.03),
            Near("1,000 m", _offloaded(1000, updated=True, grid="margin"), 0.93, 0.02),
            Stated("heaping what leaves the area on its border"),
        ),
        "0.98; 0.93, the grid's end is not told",
    ),
    Row(
        "Figure 3, section 5.1",
        "a margin wins traffic around the whole simulated city too",
        "figure geo-3",
        (Stated("heaping what leaves the area on its border"),),
        "not tried in the paper",
        note="its area has 2 km to spare, out of which hardly anything is carried; in the "
        "[middle of the city](gps.md#geo-3-offloading) a margin wins 3 to 13 points",
    ),
    Row(
        "Figure 3, section 5.1",
        "what is offloaded is traffic: of the cells in which somebody was far fewer are chosen",
        _3,
        tuple(
            Between(
                f"{noise:,} m: cells",
                _offloaded(noise, updated=False, of="cells_found"),
                most=_offloaded(noise, updated=False),
            )
            for noise in (250, 500, 1000)
        ),
        "the share of cells is not told",
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
        note="of a forest, beside whom always answering the largest class has 18 %",
    ),
    Row(
        "Figure 6, section 5.3",
        "each class counting alike, the classifier tells the targets apart",
        _6,
        (Stated("classifiers tell the targets apart"),),
        "only plain accuracy is told",
    ),
    Row("Figure 6, section 5.3", "the same by a network of three LSTM layers", missing=_PYTORCH),
)
