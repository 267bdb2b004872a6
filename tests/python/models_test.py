"""Real models: their results through Python are those that other engines computed."""

import os
from pathlib import Path

import numpy as np
import pytest

import deputy

DATA = Path(os.environ.get("DEPUTY_TEST_DATA") or Path(__file__).resolve().parents[3] / "shared/data")
MODELS = sorted(path.parent.name for path in (DATA / "models").glob("*/model.onnx"))


def tensors(folder, kind):
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [deputy.read_tensor(path) for path in files]


def agree(found, wanted, rtol):
    if found.dtype.kind in "iub":
        steps = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
        return found.size == 0 or np.mean(steps <= 1) > 0.999
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    # Results of a sigmoid near 0 are multiples of half the last bit of 1.
    scale = np.max(np.abs(wanted), initial=0)
    atol = max(1e-6, (1e-5 if rtol < 1e-2 else rtol) * scale)
    return np.allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.skipif(not MODELS, reason=f"there are no models in {DATA}")
@pytest.mark.parametrize("name", MODELS)
def test_results(name):
    folder = DATA / "models" / name
    model = deputy.Model(folder / "model.onnx", config="cpu-only")
    session = model.session()
    sets = sorted(folder.glob("test_data_set_*"))
    assert sets
    for one in sets:
        inputs, wanted = tensors(one, "input"), tensors(one, "output")
        # The files of one model are in float32, the model is not.
        inputs = [value.astype(info.dtype) for value, info in zip(inputs, model.inputs)]
        session.reset_states()
        results = list(session.run(inputs).values())
        assert len(results) == len(wanted)
        is_coarse = "fp16" in name or "qdq" in name or "int8" in name
        for found, expected, info in zip(results, wanted, model.outputs):
            assert found.shape == expected.shape and found.dtype == info.dtype
            assert agree(found, expected, 0.1 if is_coarse else 1e-3)
