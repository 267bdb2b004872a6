#!/usr/bin/env python3
"""Edits copies of the ABI headers and of the operator schema, in every way that a careless change could, and sees that
each harmful edit is refused and each legal one passes.

  abi_edits_test.py --headers DIR --schema DIR [--seed N] [--layout-edits N] [--other-edits N] [--verbose] COMPILER

Edits of the layout (structs, functions, enumerations, constants; layout_edits.py), and others: of macros, contracts,
optional slots and flags (contract_edits.py) and of primitive.fbs and operators.inc (schema_edits.py). Each edit is made
by its own seed, which is printed when the verdict is wrong; the table at the end says which checks refused what. The
checks are those of layout_test.py and schema_test.py: the readers, the compiler, the comparison with the golden tables
of the unedited files (layout, contracts, schema), and the rules.
"""

import argparse
import collections
import itertools
import shutil
import sys
import tempfile
from pathlib import Path

import contract_edits
import contracts
import golden
import headers
import layout_edits
import schema
import schema_edits
import thread_tags_test
from editor import Unlucky

EDITORS = {layout_edits: layout_edits.LayoutEditor, contract_edits: contract_edits.ContractEditor,
           schema_edits: schema_edits.SchemaEditor}
# (module, name of the edit, whether it is harmful) of all that are not of the layout.
OTHER = [(module, kind, kind in module.HARMFUL) for module in (contract_edits, schema_edits)
         for kind in module.HARMFUL + module.LEGAL]


class Tree:
    """The headers and the schema in a scratch folder, as they are before each edit, and what was released of them."""

    def __init__(self, scratch, arguments):
        self.base, self.edited = Path(scratch, "base"), Path(scratch, "edited")
        self.compiler = arguments.compiler
        shutil.copytree(arguments.headers, self.headers(self.base))
        shutil.copytree(arguments.schema, self.base / "schema")
        self.add_an_optional_slot()
        self.abi = headers.read(self.headers(self.base))
        self.table = golden.measure(self.abi, self.base / "include", [self.compiler])
        self.released = schema.read(self.base / "schema", self.abi.version)
        self.reset()

    @staticmethod
    def headers(folder):
        return folder / "include" / "deputy" / "abi"

    def add_an_optional_slot(self):
        """Headers without an optional slot get one, so that there is one to edit."""
        root = self.headers(self.base)
        known = contracts.read(headers.read(root)).values()
        if not any(contract.optional for contract in known):
            thread_tags_test.define_optional(root)
            slot = [contract for contract in known if contract.table][-1]
            path, end = root / slot.header, slot.comments[-1][1] - 2
            text = path.read_text(encoding="utf-8")
            path.write_text(f"{text[:end]}{contracts.OPTIONAL} {text[end:]}", encoding="utf-8")

    def reset(self):
        shutil.rmtree(self.edited, ignore_errors=True)
        shutil.copytree(self.base, self.edited)

    def editor(self, module, seed):
        return EDITORS[module](self.headers(self.edited), self.edited / "schema", self.abi, self.table, seed)

    def judge(self, signed=""):
        """{check: what it found}, empty when all are content."""
        root = self.headers(self.edited)
        try:
            abi, everything = headers.read(root), headers.read(root, drafts=True)
            numbers = golden.numbers_of(everything, self.edited / "include", [self.compiler])
            table, drafted = golden.tabulate(abi, numbers), golden.tabulate(everything, numbers)
            listed = schema.read(self.edited / "schema", self.abi.version)
        except headers.Unreadable as error:
            return {"reader": str(error)}
        except schema.Unreadable as error:
            return {"schema reader": str(error)}
        except golden.CompilerRefuses as error:
            return {"compiler": str(error).splitlines()[0]}
        lines, used = contracts.parse_signed(signed, "signed"), set()
        changed = contracts.compare(self.table.contracts, table.contracts, lines, used)
        found = {"golden": golden.compare(self.table, table), "rules": golden.check_rules(everything, drafted),
                 "contracts": changed or contracts.unused(lines, used), "schema": schema.compare(self.released, listed)}
        return {check: wrong[0] for check, wrong in found.items() if wrong}


def kinds(layout, other):
    """(module, name of the edit, whether it is harmful): of the layout three harmful edits, then a legal one; of the
    others each in turn."""
    harmful, legal = itertools.cycle(layout_edits.HARMFUL), itertools.cycle(layout_edits.LEGAL)
    chosen = [(layout_edits, next(legal), False) if index % 4 == 3 else (layout_edits, next(harmful), True)
              for index in range(layout)]
    return chosen + list(itertools.islice(itertools.cycle(OTHER), other))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layout-edits", type=int, default=200)
    parser.add_argument("--other-edits", type=int, default=len(OTHER), help="default: each kind once")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("compiler")
    arguments = parser.parse_args()
    chosen = kinds(arguments.layout_edits, arguments.other_edits)
    counted, wrong, seed, made = collections.defaultdict(collections.Counter), 0, arguments.seed, 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Tree(scratch, arguments)
        untouched = tree.judge()
        if untouched:
            raise SystemExit(f"the headers or the schema are wrong before any edit: {untouched}")
        while made < len(chosen):
            module, kind, harmful = chosen[made]
            tree.reset()
            editor = tree.editor(module, seed)
            seed += 1
            try:
                getattr(editor, kind)()
            except Unlucky:
                continue
            made += 1
            found = tree.judge(editor.signed)
            counted[module, kind][" and ".join(found) or "passes"] += 1
            if arguments.verbose:
                print(f"seed {seed - 1}: {kind}: {editor.what}: {found or 'passes'}")
            if bool(found) != harmful:
                wrong += 1
                print(f"seed {seed - 1}: {kind} ({editor.what}): {found or 'was not refused'}")
    untried = 0
    for module in EDITORS:
        for kind in module.HARMFUL + module.LEGAL:
            untried += not counted[module, kind]
            print(f"{kind.replace('_', ' '):45}" + (", ".join(f"{check} {count}" for check, count in
                                                              counted[module, kind].items()) or "never tried"))
    print(f"{made} edits from seed {arguments.seed}, {wrong} judged wrongly")
    return 1 if wrong or untried and made >= 200 else 0


if __name__ == "__main__":
    sys.exit(main())
