"""The type hints of the package: `mypy --strict` accepts it, and a program that uses it, and refuses a wrong one."""

import subprocess
import sys
from pathlib import Path

import pytest

import deputy

FOLDER = Path(deputy.__file__).parents[1]

PROGRAM = """
import asyncio
from typing import Any
import numpy as np
import numpy.typing as npt
import deputy

def classify(model: deputy.Model, pictures: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    logits: npt.NDArray[Any] = model.run({"image": pictures})["logits"]
    return logits

async def several(session: deputy.Session) -> list[dict[str, Any]]:
    return list(await asyncio.gather(*(session.run_async([np.zeros(3)]) for _ in range(3))))

def shares(model: deputy.Model) -> dict[str, int]:
    return {one.name: one.nodes for one in model.placement.delegates}
"""


def mypy(*arguments, folder):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), *arguments]
    environment = {"MYPYPATH": str(FOLDER), "PATH": ""}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def test_package(tmp_path):
    done = mypy("-p", "deputy", folder=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [("", None), ("x: int = deputy.Model('m').run([])", "[assignment]"), ("deputy.Modl('m')", "[attr-defined]")],
)
def test_program(tmp_path, line, message):
    (tmp_path / "program.py").write_text(f"{PROGRAM}\n{line}\n")
    done = mypy(str(tmp_path / "program.py"), folder=tmp_path)
    assert (done.returncode == 0) == (message is None), done.stdout
    assert message is None or message in done.stdout
