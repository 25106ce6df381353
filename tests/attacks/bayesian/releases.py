"""Small releases of every kind that an attacker may meet, and what their observations mean, spelled out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian.channel import Channel
from tracearena.traces import ObfuscatedTraces, Traces

DEFENCES = ["No", "PL(4,1)", "RR(3)", "MRLH(1,1,0.3)"]


def released(original: Traces, defence: str, seed: int = 3) -> ObfuscatedTraces:
    """Release traces by a defence that is named."""
    made: ObfuscatedTraces = catalogue.create(defence, "obfuscator").transform(original, seed=seed)
    return made


def in_another_order(release: ObfuscatedTraces, seed: int = 5) -> tuple[ObfuscatedTraces, NDArray[np.int64]]:
    """Give the traces pseudonyms; return also whose trace each is."""
    whose = np.random.default_rng(seed).permutation(release.n_users)
    return release.take_users(whose).with_user_ids(np.arange(1001, 1001 + release.n_users)), whose


def spelled_out(channel: Channel, n_places: int) -> NDArray[np.float64]:
    """Return E(y|x) as a table, observations × places."""
    table = np.repeat(channel.floor[:, None], n_places, axis=1)
    for y in range(len(channel.floor)):
        for k in range(channel.offsets[y], channel.offsets[y + 1]):
            table[y, channel.places[k]] += channel.values[k]
    return table
