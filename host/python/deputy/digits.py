"""The first example: classifies the pictures of digits that come with Deputy.

python -m deputy.digits [CONFIGURATION]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import deputy


def sample_folder() -> Path:
    """The folder of the model and the pictures, of the installation that the library belongs to."""
    shipped = deputy.shipped_configs()
    if "default" not in shipped:
        sys.exit("deputy.digits: this installation has no samples; Debian's package deputy has them")
    return Path(shipped["default"]).parents[1] / "digits"


def read_picture(file: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """A binary PGM with 28 x 28 pixels and no comments, from 0 to 1."""
    pixels = file.read_bytes()[-28 * 28 :]
    return np.frombuffer(pixels, np.uint8).astype(np.float32).reshape(1, 28, 28) / np.float32(255)


def main() -> int:
    folder = sample_folder()
    files = sorted((folder / "images").glob("*.pgm"))
    config = sys.argv[1] if len(sys.argv) > 1 else folder / "digits.yaml"
    model = deputy.Model(folder / "digits.onnx", config=config)
    outputs = model.run({"image": np.stack([read_picture(file) for file in files])})
    found = outputs["logits"].argmax(axis=1)
    wanted = [int(file.stem[-1]) for file in files]
    right = sum(int(digit) == label for digit, label in zip(found, wanted))
    print(" ".join(str(digit) for digit in found))
    print(f"{right} of {len(files)} right")
    print(model.placement)
    return 0 if right == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
