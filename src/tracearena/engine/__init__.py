"""Where work runs: fixed blocks on threads, each block with its own random stream.

The size of a block never depends on the number of threads, and results are collected in block
order, so the same seed gives the same bytes on any machine.
"""

from tracearena.engine.blocks import Progress, blocks, fold_blocks, run_blocks, thread_count
from tracearena.engine.seeding import (
    SeedLike,
    child_seed,
    fresh_seed,
    generator,
    seed_sequence,
    stream,
    uniforms,
)

__all__ = [
    "Progress",
    "SeedLike",
    "blocks",
    "child_seed",
    "fold_blocks",
    "fresh_seed",
    "generator",
    "run_blocks",
    "seed_sequence",
    "stream",
    "thread_count",
    "uniforms",
]
