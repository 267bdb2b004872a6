"""Names that programs give: those that are missing or unknown are errors that name the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import InvalidArgument

_CODE = 3


def nearest(name: object, known: Iterable[str]) -> str:
    """The advice for an unknown name."""
    known = list(known)
    found = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    if found:
        return f"did you mean '{found[0]}'?"
    return "known are " + ", ".join(f"'{one}'" for one in known) if known else ""


def refuse(kind: str, given: int | Sequence[object], names: Sequence[str]) -> None:
    """Raises the error for inputs or outputs that are not those of the model: their names, or their number."""
    if isinstance(given, int):
        few = [f"'{name}'" for name in names[given:]]
        advice = f"missing are {', '.join(few)}" if few else ""
        raise InvalidArgument(f"{given} {kind}s are given, but the model has {len(names)}", code=_CODE, advice=advice)
    unknown = [name for name in given if name not in names]
    missing = [name for name in names if name not in given]
    if unknown:
        advice = nearest(unknown[0], missing or names)
        raise InvalidArgument(f"the model has no {kind} '{unknown[0]}'", code=_CODE, advice=advice)
    raise InvalidArgument(f"the {kind} '{missing[0] if missing else names[0]}' is missing", code=_CODE)


def in_order(kind: str, given: object, ports: Sequence[Mapping[str, Any]]) -> list[object]:
    """The values for the inputs in their order; None for an optional one that is left out."""
    names = [port["name"] for port in ports]
    if isinstance(given, Mapping):
        if any(name not in names for name in given) or any(
            name not in given and not port["kind"].startswith("optional") for name, port in zip(names, ports)
        ):
            refuse(kind, [name for name in given], names)
        return [given.get(name) for name in names]
    if not isinstance(given, (list, tuple)) or len(given) != len(names):
        refuse(kind, len(given) if isinstance(given, (list, tuple)) else 1, names)
    assert isinstance(given, (list, tuple))
    return list(given)
