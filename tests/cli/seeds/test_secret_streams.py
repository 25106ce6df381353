"""What is drawn without a seed: a cipher's keystream under 256 bits that nobody knows."""

from __future__ import annotations

import copy
import gc
import pickle
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numba import njit

from tracearena.cities import simulate, simulate_gps
from tracearena.engine import (
    Cluster,
    SecretRoot,
    child_seed,
    generator,
    is_secret,
    seed_sequence,
    stream,
    uniforms,
    use,
)
from tracearena.metrics.similarity import semantic_similarity
from tracearena.mobility import MobilityProfiles
from tracearena.obfuscation import ClusterAveraging
from tracearena.synthesis import PPMTF, SGLT
from tracearena.traces import Traces

DRAWS = 200_000


@pytest.fixture
def root() -> SecretRoot:
    """A root whose draws the margins below were not chosen on, the same in every run."""
    return SecretRoot.of(bytes(range(32)))


def keystream(root: SecretRoot, size: int) -> bytes:
    return Cipher(algorithms.AES(root.stream_key()), modes.CTR(bytes(16))).encryptor().update(bytes(size))


def test_without_a_seed_256_bits_are_drawn_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def source(size: int) -> bytes:
        asked.append(size)
        return bytes([len(asked)]) * size

    monkeypatch.setattr(secrets, "token_bytes", source)
    first, second = generator(None).random(5), generator(None).random(5)
    assert asked == [32, 32]
    assert (first != second).all()


def test_every_bit_of_the_root_matters(root: SecretRoot) -> None:
    key = bytes(range(32))
    changed = [bytes([*key[:i], key[i] ^ 1 << bit, *key[i + 1 :]]) for i in range(32) for bit in range(8)]
    keys = {SecretRoot.of(other).stream_key() for other in changed}
    assert len(keys | {root.stream_key()}) == 257


def test_the_words_are_those_of_the_cipher(root: SecretRoot) -> None:
    words = stream(root, 3, 4).integers(0, 2**64, size=5000, dtype=np.uint64)
    assert words.astype("<u8").tobytes() == keystream(root.child(3, 4), 40_000)


def test_numbers_are_made_of_the_words(root: SecretRoot) -> None:
    words = np.frombuffer(keystream(root, 8 * 3000), "<u8")
    assert (stream(root).random(3000) == (words >> np.uint64(11)) * 2.0**-53).all()
    halves = stream(root).integers(0, 2**32, size=3000, dtype=np.uint32)
    assert (halves == words & np.uint64(0xFFFFFFFF)).all()


def test_parts_have_streams_of_their_own(root: SecretRoot) -> None:
    names = [(), (0,), (1,), (0, 0), (0, 1), (256,), (0, 1, 0), (65536,), (-1,)]
    assert len({root.child(*name).stream_key() for name in names}) == len(names)
    assert child_seed(child_seed(root, 1), 2).spawn_key == (1, 2)
    assert stream(child_seed(root, 1), 2).random() == stream(root, 1, 2).random()


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda rng: rng.random(DRAWS), 0.5, 12**-0.5),
        (lambda rng: rng.standard_normal(DRAWS), 0.0, 1.0),
        (lambda rng: rng.gamma(2.0, 50.0, DRAWS), 100.0, 50 * 2**0.5),
        (lambda rng: rng.integers(0, 7, DRAWS), 3.0, 2.0),
        (lambda rng: [rng.permutation(9)[0] for _ in range(20_000)], 4.0, (80 / 12) ** 0.5),
    ],
)
def test_draws_have_their_distribution(
    root: SecretRoot, draw: Callable[[np.random.Generator], Any], mean: float, deviation: float
) -> None:
    drawn = np.asarray(draw(stream(root)), float)
    # Five standard errors: one honest generator in a million leaves them.
    assert abs(drawn.mean() - mean) < 5 * deviation / len(drawn) ** 0.5
    assert abs(drawn.std() / deviation - 1) < 5 * (2 / len(drawn)) ** 0.5


def test_draws_do_not_depend_on_threads_or_on_what_others_draw(root: SecretRoot) -> None:
    alone = [stream(root, block).random(50_000) for block in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda block: stream(root, block).random(50_000), range(8)))
    assert all((one == other).all() for one, other in zip(alone, together, strict=True))
    assert (uniforms(root, 200_000)[:70_000] == uniforms(root, 70_000)).all()


def test_threads_that_share_a_stream_share_its_words(root: SecretRoot) -> None:
    shared = stream(root)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: shared.random(20_000), range(8)))
    assert (np.sort(np.concatenate(parts)) == np.sort(stream(root).random(160_000))).all()


@pytest.mark.slow
def test_a_generator_outlives_everything_it_was_made_of(root: SecretRoot) -> None:
    kept = [stream(SecretRoot.of(bytes([n]) * 32)) for n in range(50)]
    gc.collect()
    assert len({rng.random(5000)[-1] for rng in kept}) == 50


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, lambda rng: rng.bit_generator.state])
def test_a_stream_cannot_be_copied(root: SecretRoot, copied: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="secret stream"):
        copied(stream(root))
    with pytest.raises(TypeError):
        stream(root).spawn(1)


def test_a_root_can_be_sent_but_not_read(root: SecretRoot) -> None:
    sent = pickle.loads(pickle.dumps(root.child(5)))
    assert stream(sent).random() == stream(root, 5).random()
    assert repr(root) == str(root) == f"{root}" == "SecretRoot(…)"
    for name in ("entropy", "pool", "state"):
        with pytest.raises(AttributeError):
            getattr(root, name)


def test_what_comes_from_something_secret_is_secret(root: SecretRoot) -> None:
    assert is_secret(None)
    assert is_secret(seed_sequence(stream(root)))
    assert is_secret(child_seed(seed_sequence(None), 3))
    assert all(is_secret(child) for child in root.spawn(2) + root.spawn(1))
    assert not is_secret(seed_sequence(np.random.default_rng(1)))


def test_numpys_generators_can_be_seeded_by_all_of_a_root(root: SecretRoot) -> None:
    states = {np.random.default_rng(SecretRoot.of(bytes([n]) + bytes(31))).random() for n in range(50)}
    assert len(states) == 50
    one, other = root.spawn(2)
    assert np.random.default_rng(one).random() != np.random.default_rng(other).random()


def test_a_seed_draws_what_it_always_drew() -> None:
    assert stream(seed_sequence(7), 0).integers(0, 2**32, 3).tolist() == [1311550352, 3426779114, 875733758]
    assert isinstance(generator(7).bit_generator, np.random.PCG64)
    assert isinstance(generator(np.random.default_rng(7)).bit_generator, np.random.PCG64)


@pytest.mark.slow
def test_everything_that_draws_works_without_a_seed(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=12, days=2)
    people = simulate(users=20, days=2)
    assert people.n_users == 20
    assert simulate_gps(users=1, days=2).n_users == 1
    assert ClusterAveraging(threshold=0.7).transform(walks).n_users == 12
    assert PPMTF(factors=2, iterations=3).fit(walks).sample_users(3, 2).n_users == 3
    fakes = SGLT(classes=4, privacy_tests=False)
    drawn = {fakes.fit(walks).synthesize(1).place_index.tobytes() for _ in range(2)}
    assert len(drawn) == 2


def test_fakes_are_drawn_from_the_stream_itself(make_walks: Callable[..., Traces], root: SecretRoot) -> None:
    model = SGLT(classes=4, privacy_tests=False).fit(make_walks(users=12, days=2), seed=1)
    drawn = [model.synthesize(2, seed=source).place_index for source in (root, root, root.child(1))]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


@pytest.mark.slow
def test_numba_draws_what_numpy_draws(make_walks: Callable[..., Traces], root: SecretRoot) -> None:
    profiles = MobilityProfiles.of(make_walks(users=4, days=2))
    alike = [semantic_similarity(profiles, profiles, order=1, seed=source) for source in (root, root, None)]
    assert (alike[0] == alike[1]).all()
    assert all(((values >= 0) & (values <= 1 + 1e-9)).all() for values in alike)

    @njit  # type: ignore[untyped-decorator]
    def drawn(rng, count):  # type: ignore[no-untyped-def]
        return [rng.random() for _ in range(count)]

    assert drawn(stream(root), 3000) == stream(root).random(3000).tolist()


@pytest.mark.slow
def test_a_cluster_draws_what_this_process_draws(
    make_walks: Callable[..., Traces], root: SecretRoot, cluster: Cluster
) -> None:
    walks = make_walks(users=30, days=3)
    here = PPMTF(factors=3, iterations=5).fit(walks, seed=root)
    with use(cluster=cluster):
        there = PPMTF(factors=3, iterations=5).fit(walks, seed=root)
    assert (here.transition_factors_.users == there.transition_factors_.users).all()
    with use(cluster=cluster):
        assert (here.synthesize(seed=root).place_index == there.synthesize(seed=root).place_index).all()
