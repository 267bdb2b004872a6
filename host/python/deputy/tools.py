"""Functions without a model or a context."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native, reports
from .context import Path, Settings, setting_texts
from .session import Array


def version() -> str:
    """Of the library: "0.2.0"."""
    return _native.version()


def inspect(model: Path, input_shapes: Mapping[str, Sequence[int]] | None = None) -> reports.ModelContents:
    """The contents of a model file, which is neither placed nor prepared to run."""
    options = json.dumps({"input_shapes": {name: list(shape) for name, shape in (input_shapes or {}).items()}})
    return reports.from_fields(reports.ModelContents, _native.inspect_model(os.fspath(model), options))


def check_config(
    *files: Path, settings: Settings = (), offline: bool = False, model: Path = ""
) -> reports.ConfigCheck:
    """All problems of a configuration at once."""
    options = {
        "files": [os.fspath(file) for file in files],
        "settings": setting_texts(settings),
        "offline": offline,
        "model": os.fspath(model),
    }
    return reports.from_fields(reports.ConfigCheck, _native.check_config(json.dumps(options)))


def config_keys() -> list[reports.ConfigKey]:
    """The keys of configuration files."""
    return [reports.from_fields(reports.ConfigKey, one) for one in _native.config_keys()]


def config_schema() -> dict[str, Any]:
    """The JSON Schema of configuration files."""
    return dict(json.loads(str(_native.config_schema())))


def shipped_configs() -> dict[str, str]:
    """The files of the shipped configurations by their names."""
    return {str(one["name"]): str(one["file"]) for one in _native.shipped_configs()}


def installation() -> reports.InstallationReport:
    """The installation that this process uses."""
    return reports.from_fields(reports.InstallationReport, _native.installation())


def read_tensor(path: Path, dtype: str = "", shape: Sequence[int] = ()) -> Array:
    """From .npy or .pb (ONNX TensorProto); any other file is raw, and needs type and shape."""
    return _native.read_tensor(os.fspath(path), dtype, list(shape))


def write_tensor(path: Path, values: Any) -> None:
    """Writes .npy."""
    _native.write_tensor(os.fspath(path), values)
