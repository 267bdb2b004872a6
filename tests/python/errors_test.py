"""Exceptions: a class for each code, with the parts of the message."""

import pickle
import re
from pathlib import Path

import pytest

import deputy
from deputy import digits, errors

HEADER = Path(__file__).resolve().parents[2] / "host/include/deputy.h"


def codes():
    """{number: name} of deputy.h."""
    text = HEADER.read_text(encoding="utf-8")
    listed = re.search(r"typedef int32_t DeputyCode;\nenum \{(.*?)\};", text, re.S)[1]
    return {int(number): name for name, number in re.findall(r"kDeputy(\w+) = (\d+)", listed)}


def test_every_code_has_a_class():
    assert set(errors.CLASSES) == set(codes()) - {0}
    names = {"Unknown": "Error", "Config": "ConfigError", "Plugin": "PluginError"}
    for number, name in codes().items():
        if number:
            assert errors.CLASSES[number].__name__ == names.get(name, name)


@pytest.mark.parametrize(
    ("kind", "other"),
    [(deputy.InvalidArgument, ValueError), (deputy.DeadlineExceeded, TimeoutError), (deputy.NotFound, LookupError),
     (deputy.ResourceExhausted, MemoryError), (deputy.NotSupported, NotImplementedError),
     (deputy.FailedPrecondition, RuntimeError), (deputy.FileNotFound, FileNotFoundError)],
)  # fmt: skip
def test_classes_are_those_of_python_too(kind, other):
    assert issubclass(kind, other) and issubclass(kind, deputy.Error)


def test_parts_of_an_error(relu):
    with pytest.raises(deputy.Error) as caught:
        deputy.Context.from_text("version: 1\ncpu: {thread: 1}\n", name="a.yaml")
    error = caught.value
    assert (error.code, error.code_name) == (17, "configuration")
    assert error.message and str(error).startswith(error.place)


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        deputy.Model(tmp_path / "nowhere.onnx", config="cpu-only")
    assert isinstance(caught.value, deputy.FileNotFound) and "nowhere.onnx" in str(caught.value)


def test_damaged_model(tmp_path):
    (tmp_path / "damaged.onnx").write_bytes(b"\x08\x07\x3a\xff")
    with pytest.raises(deputy.ModelError) as caught:
        deputy.Model(tmp_path / "damaged.onnx", config="cpu-only")
    assert caught.value.code == 18


def test_unknown_code_of_a_newer_library():
    error = errors.error_of(99, "new", "message", "place", "advice")
    assert type(error) is deputy.Error and error.code == 99 and str(error) == "place: message; advice"


def test_errors_can_be_pickled():
    error = errors.error_of(3, "invalid argument", "message", "place", "advice")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is deputy.InvalidArgument and str(copy) == str(error) and copy.code == 3


def test_digits_of_an_installation_without_samples(monkeypatch):
    monkeypatch.setattr(deputy, "shipped_configs", dict)
    with pytest.raises(SystemExit, match="has no samples"):
        digits.sample_folder()
