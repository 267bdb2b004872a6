#!/usr/bin/env python3
"""Every function of the ABI headers says from which threads it may be called: its comment ends with exactly one of the
thread tags that base.h defines, perhaps with [any-state] after it, and last with [optional] where a slot may be NULL:
only in a struct with struct_size, and only where base.h defines that tag too. Functions in a row share the comment
above the first of them (contracts.py).

  thread_tags_test.py --headers DIR               checks the headers
  thread_tags_test.py --headers DIR --self-test   spoils copies of them in every way and sees each refused
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import contracts
import headers

STATE, OPTIONAL = "any-state", "optional"
TAG = re.compile(r"\[([a-z]+(?:-[a-z]+)+)\]")
# Any word in brackets, so that a misspelt tag is seen; not an index, data[size].
BRACKETED = re.compile(r"(?<![\w\]])\[([a-z]+(?:-[a-z]+)*)\]")
DEFINITION = re.compile(r"^ \* \[([a-z-]+)\] +\S", re.M)


def tags_of(root):
    """The thread tags, and [optional] if it is one: those that base.h defines, without the one for states."""
    return set(DEFINITION.findall((root / "base.h").read_text(encoding="utf-8"))) - {STATE}


def problem_of(contract, known):
    """What is wrong with the tags of a comment, or nothing."""
    if not contract.text:
        return "no comment"
    tags = BRACKETED.findall(contract.text)
    threads = [tag for tag in tags if tag not in (STATE, OPTIONAL)]
    unknown = [tag for tag in tags if tag not in known and tag != STATE]
    if unknown:
        return f"[{unknown[0]}] is none of {', '.join(sorted(known))}"
    if len(threads) != 1:
        return f"{len(threads)} thread tags" if threads else "no thread tag"
    ending = " ".join(f"[{tag}]" for tag in (threads[0], STATE, OPTIONAL) if tag in tags)
    if not contract.text.endswith(ending) or len(tags) != ending.count("["):
        return f"the comment does not end with {ending}"
    if OPTIONAL in tags and not contract.table:
        return "only a slot of a struct with struct_size can be optional"
    return None


def check(root):
    known = tags_of(root)
    if not known - {OPTIONAL}:
        return 0, ["base.h: defines no thread tags"]
    functions = [contract for contract in contracts.read(headers.read(root, drafts=True)).values() if contract.function]
    problems = ((contract, problem_of(contract, known)) for contract in functions)
    return len(functions), [f"{contract.header}:{contract.line}: {contract.name}: {problem}"
                            for contract, problem in problems if problem]


def define_optional(root):
    """Defines [optional] beside [any-state], for headers that have no optional slot yet."""
    base = root / "base.h"
    text = base.read_text(encoding="utf-8")
    if OPTIONAL not in DEFINITION.findall(text):
        defined = "\n * [optional]             the slot may be NULL\n * [any-state]"
        base.write_text(text.replace("\n * [any-state]", defined, 1), encoding="utf-8")


def edits_of(text, contracts_here, growing):
    """(what, whether it is legal, start, end, new text) of each edit of a header: each tag spoilt in each way, an
    optional slot in each place, a function without a comment. `growing` names the structs with struct_size."""
    spoilt = {"left out": "", "doubled": "[load-time] [any-thread]", "misspelt": "[any-threat]",
              "before the last sentence": "[any-thread] Copies.", "behind [optional]": "[optional] [any-thread]",
              "with [optional] misspelt": "[any-thread] [optinal]", "with [optional] twice": "[any-thread] [optional] "
              "[optional]", "with [optional] before a sentence": "[any-thread] [optional] Copies."}
    for contract in {contract.comments: contract for contract in contracts_here}.values():
        begin, end = contract.comments[-1]
        where = f"{contract.name}'s tag"
        for place in TAG.finditer(text, begin, end):
            if place[1] != STATE:
                yield from ((f"{where} {how}", False, place.start(), place.end(), new) for how, new in spoilt.items())
        if contract.optional:
            yield f"{where} without [optional]", True, begin, end, text[begin:end].replace(f" {contracts.OPTIONAL}", "")
        else:
            last = begin + len(text[begin:end - 2].rstrip())
            yield f"{where} with [optional]", contract.table, last, last, " [optional]"
    tail = text.rfind("\n} deputy_")
    if tail > 0:
        yield "a function after data", False, tail, tail, "\n  void *spoilt;\n  void (*spoil)(void *self);"
        legal = text[tail + 3:].partition(";")[0] in growing
        yield ("an optional function after data", legal, tail, tail,
               "\n  void *spoilt;\n  /* [any-thread] [optional] */\n  void (*spoil)(void *self);")
    end = text.rindex("#endif")
    yield ("an optional function of a frozen struct", False, end, end, "typedef struct deputy_frozen {\n"
           "  /* [any-thread] [optional] */\n  void (*spoil)(void *self);\n} deputy_frozen;\n")


def self_test(root):
    """Spoils each header in each way, and sees it refused; and what is legal not refused."""
    wrong, spoilt = check(root)[1], 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "abi"
        shutil.copytree(root, copy)
        define_optional(copy)
        abi = headers.read(copy, drafts=True)
        functions = [contract for contract in contracts.read(abi).values() if contract.function]
        growing = {struct.name for struct in abi.structs.values() if struct.grows}
        for path in headers.headers(copy):
            name = path.relative_to(copy).as_posix()
            text = path.read_text(encoding="utf-8")
            for what, legal, begin, end, new in edits_of(text, [item for item in functions if item.header == name],
                                                              growing):
                spoilt += 1
                path.write_text(text[:begin] + new + text[end:], encoding="utf-8")
                found = check(copy)[1]
                if bool(found) == legal:
                    wrong.append(f"{name}: {what}: {found[0] if found else 'not seen'}")
            path.write_text(text, encoding="utf-8")
        base = copy / "base.h"
        text = re.sub(r"\n \* \[optional\][^\n]*", "", base.read_text(encoding="utf-8"))
        base.write_text(text, encoding="utf-8")
        host = copy / "host.h"
        host.write_text(host.read_text(encoding="utf-8").replace("[any-thread] */", "[any-thread] [optional] */"),
                        encoding="utf-8")
        if not check(copy)[1]:
            wrong.append("host.h: [optional] that base.h does not define: not seen")
    if spoilt < 100:
        wrong.append(f"only {spoilt} ways to spoil were found")
    return spoilt, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    count, wrong = (self_test if arguments.self_test else check)(arguments.headers)
    for line in wrong:
        print(line)
    what = "spoilt headers" if arguments.self_test else "functions"
    print(f"thread tags: {count} {what}, {len(wrong)} wrong")
    return 1 if wrong or count < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
