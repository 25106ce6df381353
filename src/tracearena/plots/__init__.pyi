from .html import id_table_html, places_html, result_html, sweep_html, traces_html
from .plots import evaluation_picture, sweep_picture, traces_picture
from .web_map import explore_traces

__all__ = [
    "evaluation_picture",
    "explore_traces",
    "id_table_html",
    "places_html",
    "result_html",
    "sweep_html",
    "sweep_picture",
    "traces_html",
    "traces_picture",
]
