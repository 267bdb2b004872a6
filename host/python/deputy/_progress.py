"""The progress of loading for people: a bar of tqdm where that is installed, and otherwise a line for each stage."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

from .context import Progress


class Display:
    """Called with each stage, by several threads; used as a context manager, so that the bar ends with the load."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False
        self._bar: Any = None
        self._stage = ""
        try:
            self._tqdm: Any = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            self._tqdm = None

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if not self._ended:
                self._show(progress)

    def _show(self, progress: Progress) -> None:
        begins = progress.stage != self._stage
        self._stage = progress.stage
        if self._tqdm is None:
            if begins:
                print(f"deputy: {progress.stage}", file=sys.stderr)
            return
        if begins:
            self._close()
            self._bar = self._tqdm(total=progress.count or None, desc=progress.stage, leave=False)
        self._bar.set_postfix_str(" ".join(text for text in (progress.delegate, progress.subject) if text))
        self._bar.update(max(0, progress.number - self._bar.n))
