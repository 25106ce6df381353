from .blocks import Shared, block_ranges, run_blocks, uniforms
from .cluster import Cluster
from .one_thread import one_library_thread
from .secret import SecretRoot
from .seeding import (
    SeedLike,
    child_seed,
    fresh_seed,
    generator,
    is_secret,
    library_state,
    seed_sequence,
    stream,
)
from .summing import PairwiseSum, fold_blocks, sum_blocks
from .surroundings import (
    Progress,
    current_chunk_rows,
    current_cluster,
    current_progress,
    report,
    thread_count,
    tracked,
    use,
)

__all__ = [
    "Cluster",
    "PairwiseSum",
    "Progress",
    "SecretRoot",
    "SeedLike",
    "Shared",
    "block_ranges",
    "child_seed",
    "current_chunk_rows",
    "current_cluster",
    "current_progress",
    "fold_blocks",
    "fresh_seed",
    "generator",
    "is_secret",
    "library_state",
    "one_library_thread",
    "report",
    "run_blocks",
    "seed_sequence",
    "stream",
    "sum_blocks",
    "thread_count",
    "tracked",
    "uniforms",
    "use",
]
