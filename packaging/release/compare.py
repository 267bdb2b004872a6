#!/usr/bin/env python3
"""Compares a release with the one before it, and writes what differs as a page.

  compare.py --previous FACTS.json --present FACTS.json COMPARISON.md

Exit status 1 if the new release breaks what the old one promised and its version does not say so: of the plugin ABI and
its operator schema the version of the ABI counts, of the C API and the exported symbols that of the project; the first of
its numbers that is not 0 must have changed. Warnings: a file that is more than 5 % larger, and a median time that is more
than 1.10 of the old one, where both were measured on processors of the same name. Exit status 2: the facts cannot be
compared.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import version
from facts import FORMAT

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "abi"), str(ROOT / "tests" / "capi")]
import golden  # noqa: E402 (of tests/abi)
import golden_test as c_api  # noqa: E402 (of tests/capi)
import releases  # noqa: E402 (of tests/abi)
import schema  # noqa: E402 (of tests/abi)

LARGER, SLOWER = 1.05, 1.10


class NotComparable(Exception):
    pass


class Part(NamedTuple):
    """One promise: its versions, what is broken and what is new."""
    name: str
    old: str
    new: str
    broken: list
    added: list

    @property
    def allowed(self):
        # Going back to an earlier version allows no more than going on from it.
        earlier, later = sorted(version.numbers(text)[:2] for text in (self.old, self.new))
        return not self.broken or not releases.held_against(earlier, later)


def text(lines):
    return "\n".join(lines) + "\n"


def of_plugins(name, module, kind, previous, present):
    """The golden files of tests/abi and the comparison that its tests make."""
    try:
        old, new = (module.parse(text(facts["abi"][kind]), f"{facts['version']}'s {kind}") for facts in (previous, present))
    except SystemExit as error:  # a line that cannot be read
        raise NotComparable(str(error)) from None
    return Part(name, *(".".join(map(str, table.version)) for table in (old, new)), module.compare(old, new),
                module.forgotten(old, new))


def of_c_api(previous, present):
    old, new = (c_api.parse(text(facts["abi"]["c"])) for facts in (previous, present))
    return Part("C API", previous["version"], present["version"], *c_api.compare(old, new))


def of_symbols(previous, present):
    broken, added = [], []
    for library, names in previous["symbols"].items():
        now = present["symbols"].get(library)
        if now is None:
            broken.append(f"{library} is gone")
            continue
        broken += [f"{library}: {name} is gone" for name in names if name not in set(now)]
        added += [f"{library}: {name}" for name in now if name not in set(names)]
    added += [library for library in present["symbols"] if library not in previous["symbols"]]
    return Part("exported symbols", previous["version"], present["version"], broken, added)


def parts_of(previous, present):
    return [of_plugins("plugin ABI", golden, "plugin", previous, present),
            of_plugins("operator schema", schema, "schema", previous, present), of_c_api(previous, present),
            of_symbols(previous, present)]  # fmt: skip


class Row(NamedTuple):
    name: str
    old: int
    new: int
    warning: bool

    @property
    def ratio(self):
        return self.new / self.old if self.old and self.new else None


def rows_of(old, new, limit):
    """Of two {name: number}; None where one of them lacks it."""
    rows = []
    for name in sorted({**old, **new}):
        before, now = old.get(name), new.get(name)
        rows.append(Row(name, before, now, bool(before and now and now > limit * before)))
    return rows


def times_of(facts):
    return {f"{turn['model']}, {turn['config']}, threads {turn['threads']}": turn["median_ns"] for turn in facts["speed"]}


def check(facts, path):
    if facts.get("format") != FORMAT:
        raise NotComparable(f"{path}: facts of format {facts.get('format')}, and not of {FORMAT}")
    return facts


class Comparison:
    def __init__(self, previous, present):
        if version.numbers(previous["version"]) > version.numbers(present["version"]):
            raise NotComparable(f"the previous release has version {previous['version']}, this one {present['version']}")
        architectures = previous["abi"]["architecture"], present["abi"]["architecture"]
        if architectures[0] != architectures[1]:
            raise NotComparable("the previous release is for {}, this one for {}".format(*architectures))
        self.previous, self.present = previous, present
        self.parts = parts_of(previous, present)
        self.sizes = rows_of(previous["sizes"], present["sizes"], LARGER)
        self.cpus = previous["machine"]["cpu"], present["machine"]["cpu"]
        self.times = rows_of(times_of(previous), times_of(present), SLOWER) if self.cpus[0] == self.cpus[1] else []

    @property
    def errors(self):
        return [f"{part.name} {part.new}: {what}" for part in self.parts if not part.allowed for what in part.broken]

    @property
    def warnings(self):
        return ([f"{row.name}: {row.ratio:.3f} of the size" for row in self.sizes if row.warning] +
                [f"{row.name}: {row.ratio:.3f} of the time" for row in self.times if row.warning])

    def page(self):
        lines = [f"# Deputy {self.present['version']} compared with {self.previous['version']}", "",
                 f"Commits: {self.previous['commit'] or 'unknown'}, {self.present['commit'] or 'unknown'}.", "",
                 f"{len(self.errors)} breaks that the version does not allow, {len(self.warnings)} warnings."]
        if self.errors or self.warnings:
            lines += ["", *[f"- break: {what}" for what in self.errors], *[f"- warning: {what}" for what in self.warnings]]
        lines += ["", "## ABI", ""]
        for part in self.parts:
            lines += [f"### {part.name}: {part.old}, {part.new}", "",
                      f"{len(part.broken)} breaks{'' if part.allowed else ', not allowed'}; {len(part.added)} additions.", ""]
            lines += [f"- break: `{what}`" for what in part.broken] + [f"- addition: `{what}`" for what in part.added]
            lines += [""] if part.broken or part.added else []
        lines += ["## Sizes", "", f"In bytes, stripped. Warnings above {LARGER:.2f}.", "", *table(self.sizes), "", "## Speed", ""]
        if self.times:
            lines += [f"Medians in ns on {self.cpus[1]}, {self.present['machine']['cpus']} processors, with other work of "
                      f"{self.previous['load_average']} and {self.present['load_average']} processes when the measurement "
                      f"began. Warnings above {SLOWER:.2f}.", "", *table(self.times)]
        else:
            lines += [f"Not comparable: measured on {self.cpus[0]} and on {self.cpus[1]}."]
        return "\n".join(lines) + "\n"


def table(rows):
    shown = [(row.name, *("-" if value is None else str(value) for value in (row.old, row.new)),
              f"{row.ratio:.3f}" if row.ratio else "-", "warning" if row.warning else "") for row in rows]
    return ["| | previous | now | ratio | |", "|---|---:|---:|---:|---|", *[f"| {' | '.join(row)} |" for row in shown]]


def read(path):
    try:
        return check(json.loads(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError) as error:
        raise NotComparable(f"{path}: {error}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--previous", type=Path, required=True)
    parser.add_argument("--present", type=Path, required=True)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    try:
        comparison = Comparison(read(arguments.previous), read(arguments.present))
    except NotComparable as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    arguments.output.write_text(comparison.page(), encoding="utf-8")
    for what in comparison.errors:
        print(f"break: {what}")
    for what in comparison.warnings:
        print(f"warning: {what}")
    print(f"{arguments.output.name}: {len(comparison.errors)} breaks, {len(comparison.warnings)} warnings")
    return 1 if comparison.errors else 0


if __name__ == "__main__":
    sys.exit(main())
