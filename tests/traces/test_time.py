"""From UTC to the time on the wall and back."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.traces.time import local_seconds, solar_seconds, utc_ms


def test_local_time_knows_summer() -> None:
    winter, summer = (int(np.datetime64(day, "ms").astype(np.int64)) for day in ("2019-01-01", "2019-07-01"))
    times = np.array([winter, summer])
    assert (local_seconds(times, "Europe/Paris") - times // 1000).tolist() == [3600, 7200]
    assert utc_ms(local_seconds(times, "Europe/Paris"), "Europe/Paris").tolist() == times.tolist()
    assert solar_seconds(np.array([0]), np.array([116.3])).tolist() == [8 * 3600]
    with pytest.raises(ParameterError, match="Asia/Shanghai"):
        local_seconds(times, "Mars/Olympus")
