"""Names that programs give: those that are unknown are errors that name the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from .errors import InvalidArgument

_CODE = 3


def nearest(name: object, known: Iterable[str]) -> str:
    """The advice for an unknown name."""
    known = list(known)
    found = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    if found:
        return f"did you mean '{found[0]}'?"
    return "known are " + ", ".join(f"'{one}'" for one in known) if known else ""


def refuse_count(kind: str, given: int, names: Sequence[str]) -> None:
    """Raises the error for a number of inputs or outputs that is not that of the model."""
    few = [f"'{name}'" for name in names[given:]]
    advice = f"missing are {', '.join(few)}" if few else ""
    raise InvalidArgument(f"{given} {kind}s are given, but the model has {len(names)}", code=_CODE, advice=advice)


def refuse_unknown(kind: str, given: Sequence[object], names: Sequence[str]) -> None:
    """Raises the error for a name that is none of the model, if there is one."""
    unknown = [name for name in given if name not in names]
    if unknown:
        missing = [name for name in names if name not in given]
        advice = nearest(unknown[0], missing or names)
        raise InvalidArgument(f"the model has no {kind} '{unknown[0]}'", code=_CODE, advice=advice)
