from .html import id_table_html, places_html, result_html, sweep_html, traces_html
from .plots import evaluation_picture, sweep_picture, traces_picture

__all__ = [
    "evaluation_picture",
    "id_table_html",
    "places_html",
    "result_html",
    "sweep_html",
    "sweep_picture",
    "traces_html",
    "traces_picture",
]
