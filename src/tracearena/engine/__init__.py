"""Where work runs: fixed blocks on threads or in a cluster, each block with its own random stream.

The size of a block never depends on the number of threads or workers, results are collected in
block order, and sums are added in a fixed tree, so the same seed gives the same bytes everywhere.
"""

from tracearena.engine.blocks import Progress, blocks, fold_blocks, run_blocks, sum_blocks, thread_count
from tracearena.engine.cluster import Cluster
from tracearena.engine.one_thread import one_library_thread
from tracearena.engine.secret import SecretRoot
from tracearena.engine.seeding import (
    SeedLike,
    child_seed,
    fresh_seed,
    generator,
    is_secret,
    library_state,
    seed_sequence,
    stream,
    uniforms,
)
from tracearena.engine.summing import PairwiseSum

__all__ = [
    "Cluster",
    "PairwiseSum",
    "Progress",
    "SecretRoot",
    "SeedLike",
    "blocks",
    "child_seed",
    "fold_blocks",
    "fresh_seed",
    "generator",
    "is_secret",
    "library_state",
    "one_library_thread",
    "run_blocks",
    "seed_sequence",
    "stream",
    "sum_blocks",
    "thread_count",
    "uniforms",
]
