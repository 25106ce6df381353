"""A commitment fixes an ID table and tells nothing about it until it is opened."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.contest import commit, verify
from tracearena.errors import DataError, ParameterError
from tracearena.io.pwscup import write_id_table
from tracearena.traces import IdTable

FIGURE_6 = IdTable([2001, 2002, 2003], [2, 3, 1])
WRITTEN = b"pse_id,user_id\n2001,2\n2002,3\n2003,1\n"


def test_the_digest_is_sha256_of_salt_line_and_file() -> None:
    commitment = commit(FIGURE_6)
    by_hand = hashlib.sha256(commitment.salt.encode() + b"\n" + WRITTEN).hexdigest()
    assert commitment.digest == by_hand


def test_the_judges_file_is_what_is_hashed(tmp_path: Path) -> None:
    write_id_table(FIGURE_6, tmp_path / "ptable.csv")
    assert (tmp_path / "ptable.csv").read_bytes() == WRITTEN


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_a_shell_can_verify_it(tmp_path: Path) -> None:
    (tmp_path / "ptable.csv").write_bytes(WRITTEN)
    commitment = commit(FIGURE_6)
    command = f"(echo {commitment.salt}; cat ptable.csv) | sha256sum"
    answer = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.split()[0] == commitment.digest


def test_the_digest_of_the_organisers_table_is_that_of_their_file(osaka: Path) -> None:
    path = osaka / "ptable_team001_data01_IDP.csv"
    rows = np.loadtxt(path, int, delimiter=",", skiprows=1)
    commitment = commit(IdTable(rows[:, 0], rows[:, 1]))
    assert (
        commitment.digest == hashlib.sha256(f"{commitment.salt}\n".encode() + path.read_bytes()).hexdigest()
    )


@pytest.mark.slow
@given(st.permutations(range(1, 6)), st.permutations(range(1, 6)))
def test_it_opens_to_its_own_table_only(kept: list[int], shown: list[int]) -> None:
    pseudonyms = range(6, 11)
    commitment = commit(IdTable(pseudonyms, kept))
    assert verify(commitment.digest, IdTable(pseudonyms, shown), commitment.salt) == (kept == shown)


def test_another_salt_does_not_open_it() -> None:
    assert not verify(commit(FIGURE_6).digest, FIGURE_6, commit(FIGURE_6).salt)


def test_two_commitments_to_one_table_have_nothing_in_common() -> None:
    first, second = commit(FIGURE_6), commit(FIGURE_6)
    assert first.salt != second.salt
    assert first.digest != second.digest
    assert re.fullmatch("[0-9a-f]{64}", first.salt)


def test_with_its_salt_a_commitment_is_said_again() -> None:
    commitment = commit(FIGURE_6)
    assert commit(FIGURE_6, salt=commitment.salt) == commitment
    with pytest.raises(ParameterError, match="salt"):
        commit(FIGURE_6, salt="")


def test_the_salt_is_not_printed() -> None:
    commitment = commit(FIGURE_6)
    assert commitment.salt not in repr(commitment)
    assert commitment.digest in repr(commitment)


def test_text_ids_cannot_be_written_to_mean_another_table() -> None:
    commitment = commit(IdTable(["P1", "P2"], ["a", "b"]))
    assert not verify(commitment.digest, IdTable(["P1"], ["a\nP2,b"]), commitment.salt)
    commas = commit(IdTable(["P1", "P2"], ["a,", "b,"]))
    assert not verify(commas.digest, IdTable(["P1"], ['a,"\nP2,"b,']), commas.salt)


def test_a_table_that_names_a_user_twice_is_refused() -> None:
    with pytest.raises(DataError, match="name a user twice"):
        commit(IdTable([2001, 2002, 2003], [2, 2, 1]))


@pytest.mark.parametrize("bad", ["", "ab", "A" * 64, "g" * 64, "0" * 65, "0" * 64 + "\n", None])
def test_a_digest_or_salt_of_another_shape_is_refused(bad: str) -> None:
    good = "0" * 64
    with pytest.raises(ParameterError, match="digest"):
        verify(bad, FIGURE_6, good)
    with pytest.raises(ParameterError, match="salt"):
        verify(good, FIGURE_6, bad)
