"""What [geo-ind] claims, row by row."""

from __future__ import annotations

from functools import partial

from tracearena.papers.published_claims import (
    ClaimRow,
    NearCheck,
    NumberGap,
    NumberRatio,
    PictureCheck,
    RangeCheck,
    RoundedCheck,
    StatementCheck,
    TableNumber,
    table_number,
)

_GEOLIFE = "the whole of GeoLife: here are 11 of its 39 users, and 0.3 of 2 million points"
_SAMPLE = "--data geolife-sample.tar.gz"
_SMALL = "the published sample has 11 of the 39 users"
WINDOWS_TESTED = 678
"""Windows of the sample that the network is tested on, for the standard error."""
_GEO_3, _GEO_5, _GEO_6 = (f"figure geo-{number} {_SAMPLE}" for number in (3, 5, 6))


def _traffic(noise_m: int, *, updated: bool, grid: str = "margin", of: str = "offloaded") -> TableNumber:
    column = f"{of}_after_update" if updated else of
    return table_number("geo-3.csv", column, grid=grid, expected_noise_m=str(noise_m))


_WINDOWS = {2: "120", 5: "300", 10: "600"}
"""Minutes for which noise keeps → the same in seconds, as the table writes them."""


def _gossip(noise_m: int | None, window: str = "independent") -> TableNumber:
    noise = {} if noise_m is None else {"expected_noise_m": str(noise_m)}
    return table_number("geo-5.csv", "infection_rate", window_s=window, **noise)


_ORIGINAL = _gossip(None, "original")


_row_of_geo_3 = partial(ClaimRow, "Figure 3, section 5.1", command=_GEO_3)
_row_of_geo_5 = partial(ClaimRow, "Figure 5, section 5.2", command=_GEO_5)
_row_of_geo_6 = partial(ClaimRow, "Figure 6, section 6", command=_GEO_6)
GEO_CLAIMS: tuple[ClaimRow, ...] = (
    ClaimRow(
        "Figure 2",
        "one trajectory as it was, under independent noise, and under noise that keeps for a while",
        f"figure geo-2 {_SAMPLE}",
        (PictureCheck("geo-2"),),
        "a picture",
    ),
    _row_of_geo_3(
        "hotspots chosen from noisy data still offload most of the traffic",
        checks=(
            RangeCheck("250 m", _traffic(250, updated=False), least=0.955),
            RangeCheck("500 m", _traffic(500, updated=False), least=0.95),
            RangeCheck("1,000 m", _traffic(1000, updated=False), least=0.885),
        ),
        published="0.96; more than 0.95; 0.89, of all of GeoLife",
        note=f"{_SMALL}: every level is lower here",
    ),
    _row_of_geo_3(
        "the traffic decreases almost linearly with the noise",
        checks=tuple(
            RangeCheck(f"{noise:,} m", _traffic(noise, updated=False)) for noise in (50, 100, 250, 500, 1000)
        ),
        published="almost linearly, without a number",
        note="it falls fastest where there is little noise",
    ),
    _row_of_geo_3(
        "the Bayesian update wins back part of what noise costs, at every noise",
        checks=(StatementCheck("the update wins back part"),),
        published="2 points on average",
        note="at 100 m, where little is lost, it wins on one run of three; 1.3 to 3.5 points from 250 m on",
    ),
    _row_of_geo_3(
        "after the update",
        checks=(
            RangeCheck("250 m", _traffic(250, updated=True), least=0.975),
            RangeCheck("1,000 m", _traffic(1000, updated=True), least=0.925),
        ),
        published="0.98; 0.93",
        note=f"{_SMALL}: both levels are lower here",
    ),
    _row_of_geo_3(
        "the same on a grid that ends with the area, where what noise carries out is heaped on the border",
        checks=(
            RangeCheck("250 m", _traffic(250, updated=True, grid="clipped"), least=0.975),
            RangeCheck("1,000 m", _traffic(1000, updated=True, grid="clipped"), least=0.925),
        ),
        published="0.98; 0.93; the paper does not say where the grid ends",
        note=f"{_SMALL}: both levels are lower here",
    ),
    _row_of_geo_3(
        "a margin wins traffic",
        checks=(StatementCheck("heaping what leaves the area on its border"),),
        published="not tried in the paper",
    ),
    ClaimRow(
        "Figure 3, section 5.1",
        "a margin wins traffic around the whole simulated city too",
        "figure geo-3",
        (StatementCheck("heaping what leaves the area on its border"),),
        "not tried in the paper",
        note="its area has 2 km to spare, out of which hardly anything is carried; in the "
        "[middle of the city](gps.md#geo-3-offloading) a margin wins 3 to 13 points",
    ),
    _row_of_geo_3(
        "with 1,000 m of noise 90 % of the most popular cells are still chosen",
        checks=(
            RangeCheck("cells", _traffic(1000, updated=False, of="cells_found"), least=0.895),
            RangeCheck("traffic in them", _traffic(1000, updated=False)),
        ),
        published="0.90 of the cells, 0.89 of the traffic",
        note="the cells that are missed hold little traffic",
    ),
    ClaimRow("Figure 3", "the levels of the paper's own cut: 62,230 cells, k = 19,696", missing=_GEOLIFE),
    ClaimRow(
        "Figure 4",
        "noise blurs the map and the update sharpens it again",
        f"figure geo-4 {_SAMPLE}",
        (StatementCheck("noise blurs the map"),),
        "heat maps",
    ),
    ClaimRow(
        "Figure 5, section 5.2",
        "gossip reaches more people in noisy traces, and more with more noise",
        _GEO_5,
        (
            StatementCheck("independent noise makes people meet"),
            RangeCheck("1,000 m", _gossip(1000), least=_gossip(50)),
        ),
        "0.40 without noise, rising with it",
    ),
    _row_of_geo_5(
        "under noise that keeps for 2, 5 and 10 minutes, more noise reaches more people too",
        checks=tuple(
            RangeCheck(f"{minutes} minutes, 1,000 m", _gossip(1000, window), least=_gossip(50, window))
            for minutes, window in _WINDOWS.items()
        ),
        published="every line rises",
        note=f"{_SMALL}: with 10 minutes more noise reaches fewer of them",
    ),
    _row_of_geo_5(
        "independent noise reaches the most people (mean over the noises)",
        checks=tuple(
            RangeCheck(f"{minutes} minutes", _gossip(None, window), most=_gossip(None))
            for minutes, window in _WINDOWS.items()
        ),
        published="the highest line",
    ),
    _row_of_geo_5(
        "the longer the noise keeps, the fewer people are reached (mean over the noises)",
        checks=(
            RangeCheck("5 minutes", _gossip(None, "300"), most=_gossip(None, "120")),
            RangeCheck("10 minutes", _gossip(None, "600"), most=_gossip(None, "300")),
        ),
        published="lower lines for larger T",
    ),
    _row_of_geo_5(
        "noise that keeps for 10 minutes halves the rate (mean over the noises)",
        checks=(RoundedCheck("times the original's", NumberRatio(_gossip(None, "600"), _ORIGINAL), "0.5"),),
        published="half the baseline",
        note=f"{_SMALL}: the source counts as reached, and 1/11 is already more than half the original's",
    ),
    _row_of_geo_5(
        "noise of 1,000 m that keeps for 2 minutes reaches 10 points more than no noise",
        checks=(RoundedCheck("more by", NumberGap(_gossip(1000, "120"), _ORIGINAL), "0.10"),),
        published="about 0.50, 0.10 more than the baseline",
        note=f"{_SMALL}, of whom fewer are reached at every noise",
    ),
    _row_of_geo_5(
        "noise below 250 m that keeps for 2 minutes is comparable to no noise: nearer to it than to 1,000 m",
        checks=tuple(
            RangeCheck(
                f"{noise} m, away by",
                NumberGap(*pair),
                most=NumberGap(_gossip(1000, "120"), _gossip(noise, "120")),
            )
            for noise in (50, 100)
            for pair in ((_gossip(noise, "120"), _ORIGINAL), (_ORIGINAL, _gossip(noise, "120")))
        ),
        published="comparable, without a number",
    ),
    _row_of_geo_5(
        "from 250 m on noise that keeps for 2 minutes reaches almost linearly more people",
        checks=tuple(RangeCheck(f"{noise:,} m", _gossip(noise, "120")) for noise in (250, 500, 1000)),
        published="almost linearly, without a number",
    ),
    ClaimRow("Figure 5", "the baseline of 40 % among 39 users", missing=_GEOLIFE),
    _row_of_geo_6(
        "a classifier tells people apart in noisy trajectories",
        checks=(StatementCheck("100 m of noise do not hide"),),
        published="47.3 % and 48.8 % right of 10 targets and others",
        note="in turn the network and the forest under independent noise, and both at T = 5 min",
    ),
    _row_of_geo_6(
        "each class counting alike, the classifier tells the targets apart",
        checks=(StatementCheck("classifiers tell the targets apart", tested=False),),
        published="the paper has plain accuracy only",
    ),
    _row_of_geo_6(
        "a network of three LSTM layers has as many windows right",
        checks=tuple(
            NearCheck(
                words,
                table_number("geo-6.csv", "accuracy", method="LSTM", noise=noise),
                share,
                3 * (share * (1 - share) / WINDOWS_TESTED) ** 0.5,
            )
            for words, noise, share in (
                ("independent noise", "independent", 0.4727),
                ("T = 5 min", "T = 5 min", 0.4876),
            )
        ),
        published="47.3 %; 48.8 %, of 39 users; the limits are three standard errors",
        note=f"{_SMALL}, and 1,556 windows to learn from; the [forest](gps.md#geo-6-telling-people-apart) is "
        "right more often",
    ),
)
