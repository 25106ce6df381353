import pickle

from tracearena.errors import Fault, FileError


def faults(count: int) -> list[Fault]:
    return [Fault(row, "reg_id", "0", "must be from 1 to 1024", "region") for row in range(1, count + 1)]


def test_a_message_says_file_row_column_value_and_what_is_allowed() -> None:
    (line,) = str(FileError("ano.csv", faults(1))).splitlines()
    assert line == "ano.csv: row 1 (line 2), column reg_id: got '0': must be from 1 to 1024"


def test_ten_faults_are_shown_and_the_rest_counted() -> None:
    lines = str(FileError("ano.csv", faults(10), total=12_345)).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "ano.csv: … and 12,335 more"


def test_values_cannot_disturb_a_terminal() -> None:
    assert "\x1b" not in str(Fault(1, None, "\x1b[31m" + "x" * 10**6, "no", "bad"))
    assert len(str(Fault(1, None, "x" * 10**6, "no", "bad"))) < 200


def test_an_error_survives_the_way_from_another_process() -> None:
    error = FileError("ano.csv", faults(3), total=9)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.to_dict() == error.to_dict()
