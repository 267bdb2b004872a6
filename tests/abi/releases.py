"""The golden files of the versions that were released, and the signed lines for contracts that changed since."""

import re

import contracts


def goldens_of(folder, machine, parse):
    """(path, table) of each golden file; `machine` is "schema" for those that depend on none."""
    for path in sorted(folder.glob(f"golden_*_{machine}.txt")):
        released = tuple(int(part) for part in re.match(r"golden_(\d+)_(\d+)_", path.name).groups())
        table = parse(path.read_text(encoding="utf-8"), path.name)
        if table.version != released:
            raise SystemExit(f"{path.name}: holds version {table.version}")
        yield path, table


def golden_name(version, machine):
    return f"golden_{version[0]}_{version[1]}_{machine}.txt"


def held_against(released, version):
    """Versions before 1.0 are held against their own golden file alone, others against all of their major number."""
    return released == version or (released[0] == version[0] > 0 and released[1] <= version[1])


def signed_for(folder, version):
    """The signed lines that count for this version: its own, and those of the versions that it is held against."""
    lines = []
    for path in sorted(folder.glob("contracts_*.txt")):
        number = re.fullmatch(r"contracts_(\d+)_(\d+)\.txt", path.name)
        if number is None:
            raise SystemExit(f"{path.name}: is not named contracts_MAJOR_MINOR.txt")
        if held_against(tuple(int(part) for part in number.groups()), version):
            lines += contracts.parse_signed(path.read_text(encoding="utf-8"), path.name)
    return lines
