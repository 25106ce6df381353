from .parameters import Parameters, read_matrix, read_parameters, write_parameters, write_sampled_users
from .places import read_place_index, read_places, write_place_index, write_places
from .results import DeniabilityResults, read_deniability, read_utility_and_privacy, write_deniability
from .sglt import (
    locations_km,
    read_sglt_locations,
    read_sglt_mobility,
    read_sglt_traces,
    write_sglt_locations,
    write_sglt_mobility,
    write_sglt_traces,
)
from .synthetic import SyntheticTraces, read_synthetic, write_synthetic
from .tensors import read_transition_tensor, read_visit_tensor, write_transition_tensor, write_visit_tensor
from .traces import (
    check_in_clock,
    is_people_flow,
    people_flow_clock,
    read_traces,
    read_user_index,
    write_traces,
    write_user_index,
)

__all__ = [
    "DeniabilityResults",
    "Parameters",
    "SyntheticTraces",
    "check_in_clock",
    "is_people_flow",
    "locations_km",
    "people_flow_clock",
    "read_deniability",
    "read_matrix",
    "read_parameters",
    "read_place_index",
    "read_places",
    "read_sglt_locations",
    "read_sglt_mobility",
    "read_sglt_traces",
    "read_synthetic",
    "read_traces",
    "read_transition_tensor",
    "read_user_index",
    "read_utility_and_privacy",
    "read_visit_tensor",
    "write_deniability",
    "write_parameters",
    "write_place_index",
    "write_places",
    "write_sampled_users",
    "write_sglt_locations",
    "write_sglt_mobility",
    "write_sglt_traces",
    "write_synthetic",
    "write_traces",
    "write_transition_tensor",
    "write_user_index",
    "write_visit_tensor",
]
