"""The files of the small contest, as their writers must make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Reader = Callable[[Path], Any]

PSEUDONYMS = np.array([3, 4])

VALID = {
    "traces": b"user_id,time_id,reg_id\n1,4,410\n1,5,316\n1,6,283\n2,4,1\n2,5,1024\n2,6,77\n",
    "obfuscated": b"reg_id\n410\n*\n281 282 313 314\n1\n1024 1\n281 282 313 314\n",
    "anonymized": b"pse_id,time_id,reg_id\n3,4,410\n3,5,*\n3,6,1 2 33\n4,4,*\n4,5,9\n4,6,1 2 33\n",
    "id_table": b"pse_id,user_id\n3,2\n4,1\n",
    "inferred_table": b"user_id\n2\n2\n",
    "inferred_traces": b"reg_id\n410\n5\n1024\n1\n7\n8\n",
    "places": b"reg_id,y_id,x_id,y(center),x(center),hospital\n1,1,1,34.5,135.5,0\n2,1,2,34.5,136.5,1\n"
    b"3,2,1,35.5,135.5,0\n4,2,2,35.5,136.5,0\n",
    "times": b"ref/org,time_id,day,hour,min\nref,1,1,8,0\nref,2,1,8,30\norg,3,2,8,0\norg,4,2,8,30\n",
}
