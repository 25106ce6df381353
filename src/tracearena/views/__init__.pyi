from .of_results import evaluation_picture, sweep_picture
from .of_traces import traces_picture
from .small_tables import id_table_html, places_html, result_html, sweep_html, traces_html

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
