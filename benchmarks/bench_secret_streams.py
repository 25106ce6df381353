"""Claim: drawing from a cipher under a secret root costs little beside drawing from PCG64 under a seed.

Prints, for raw draws and for whole defences, the processor time without a seed over that with one,
from the same run: the best of seven, taken in turn. The number of draws and of points may be given as first
argument. Also the two ciphers that were to choose from, in bytes a second.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tracearena.engine import SeedLike, generator, seed_sequence, stream
from tracearena.obfuscation import GeoInd, PlanarLaplace
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces

ROUNDS = 7
CHUNK = 8192


def main(count: int) -> None:
    """Time everything with `count` draws."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, {count:,} draws and points")
    for name, cipher in {
        "AES-256-CTR": Cipher(algorithms.AES(bytes(32)), modes.CTR(bytes(16))),
        "ChaCha20": Cipher(algorithms.ChaCha20(bytes(32), bytes(16)), None),
    }.items():
        print(f"{name}: {keystream_rate(cipher) / 1e9:.1f} GB/s in chunks of {CHUNK} bytes")
    for name, draw in {
        "random": lambda rng: rng.random(count),
        "64-bit integers": lambda rng: rng.integers(0, 2**64, count, dtype=np.uint64),
        "standard_normal": lambda rng: rng.standard_normal(count),
        "gamma(2)": lambda rng: rng.gamma(2.0, 1.0, count),
        "permutation": lambda rng: rng.permutation(count),
    }.items():
        compare(name, lambda seed, draw=draw: draw(generator(seed)))  # type: ignore[misc]
    compare("1,000 streams of one draw", many_streams)
    track, walks = points(count), events(count)
    compare("GeoInd(100m).transform", lambda seed: GeoInd(expected_noise=100).transform(track, seed=seed))
    compare("PL(4,1).transform", lambda seed: PlanarLaplace(l=4, r=1).transform(walks, seed=seed))


def compare(name: str, work: Callable[[SeedLike], object]) -> None:
    """Print both times and their ratio."""
    work(None)
    seeded, secret = np.inf, np.inf
    for _ in range(ROUNDS):
        seeded, secret = min(seeded, seconds(lambda: work(1))), min(secret, seconds(lambda: work(None)))
    print(f"{name}: PCG64 {seeded * 1e3:.1f} ms, secret {secret * 1e3:.1f} ms, {secret / seeded:.2f} times")


def many_streams(seed: SeedLike) -> None:
    """Open streams that are hardly used."""
    root = seed_sequence(seed)
    for number in range(1000):
        stream(root, number).random()


def keystream_rate(cipher: Cipher) -> float:  # type: ignore[type-arg]
    """Return bytes a second."""
    encryptor, zeros, out, chunks = cipher.encryptor(), bytes(CHUNK), bytearray(CHUNK + 16), 5000

    def run() -> None:
        for _ in range(chunks):
            encryptor.update_into(zeros, out)

    return chunks * CHUNK / min(seconds(run) for _ in range(ROUNDS))


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, of all threads: others on the machine do not count."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def points(count: int) -> GpsTraces:
    """Return one user's points around a city."""
    rng = np.random.default_rng(1)
    return GpsTraces(
        user_ids=["a"],
        offsets=[0, count],
        time_ms=1_200_000_000_000 + 5000 * np.arange(count),
        latitude=39.9 + rng.random(count) / 10,
        longitude=116.3 + rng.random(count) / 10,
    )


def events(count: int) -> Traces:
    """Return random events on the regions of a contest."""
    grid = Grid(rows=32, columns=32, south=35.65, west=139.68, north=35.75, east=139.80)
    places = Places.of_grid(grid, km_per_degree=(111, 91))
    table = np.random.default_rng(1).integers(0, 1024, (max(count // 40, 1), 40))
    return Traces.from_dense(table, places, Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
