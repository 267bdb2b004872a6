#!/usr/bin/env python3
"""Every function of the ABI headers says from which threads it may be called: its comment ends with exactly one of the
thread tags that base.h defines, and perhaps with [any-state] after it. Functions in a row share the comment above the
first of them.

  thread_tags_test.py --headers DIR               checks the headers
  thread_tags_test.py --headers DIR --self-test   spoils copies of them in every way and sees each refused
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import headers

STATE = "any-state"
TAG = re.compile(r"\[([a-z]+(?:-[a-z]+)+)\]")
DEFINITION = re.compile(r"^ \* \[([a-z-]+)\] +\S", re.M)


def tags_of(root):
    """The thread tags: those that base.h defines, without the one for states."""
    return set(DEFINITION.findall((root / "base.h").read_text(encoding="utf-8"))) - {STATE}


def problem_of(comment, known):
    """What is wrong with the tags of a comment, or nothing."""
    text = " ".join(line.strip().lstrip("*").strip() for line in comment[2:-2].splitlines()).strip()
    tags = TAG.findall(text)
    threads = [tag for tag in tags if tag != STATE]
    unknown = [tag for tag in threads if tag not in known]
    if unknown:
        return f"[{unknown[0]}] is none of {', '.join(sorted(known))}"
    if len(threads) != 1:
        return f"{len(threads)} thread tags" if threads else "no thread tag"
    ending = f"[{threads[0]}] [{STATE}]" if len(tags) > 1 else f"[{threads[0]}]"
    return None if text.endswith(ending) else f"the comment does not end with {ending}"


def functions(root):
    """(header, line, name, comment); the comment is None where there is none, or where it belongs to data."""
    abi = headers.read(root, drafts=True)
    for struct in abi.structs.values():
        text = (root / struct.header).read_text(encoding="utf-8")
        shared = None
        for before, field in zip((None, *struct.fields), struct.fields):
            begin = before.end if before else text.rindex("{", 0, field.start)
            # A comment on the line of the field before is that field's.
            between = text[begin:field.start].partition("\n")[2]
            comments = headers.COMMENT.findall(between)
            if field.parameters is None:
                shared = None
                continue
            shared = comments[-1] if comments else shared
            yield struct.header, text.count("\n", 0, field.start) + 1, f"{struct.name}.{field.name}", shared
    for item in abi.typedefs.values():
        if item.parameters is None:
            continue
        text = (root / item.header).read_text(encoding="utf-8")
        before = list(headers.COMMENT.finditer(text, 0, item.start))[-1]
        between = headers.DIRECTIVE.sub("", text[before.end():item.start]).strip()
        yield item.header, text.count("\n", 0, item.start) + 1, item.name, None if between else before[0]


def check(root):
    known = tags_of(root)
    if not known:
        return 0, ["base.h: defines no thread tags"]
    wrong, count = [], 0
    for header, line, name, comment in functions(root):
        count += 1
        problem = problem_of(comment, known) if comment else "no comment"
        if problem:
            wrong.append(f"{header}:{line}: {name}: {problem}")
    return count, wrong


def self_test(root):
    """Each tag of the headers, spoilt in each way; and a function that is added without a comment."""
    wrong, spoilt = check(root)[1], 0
    ways = {"left out": "", "doubled": "[load-time] [any-thread]", "misspelt": "[any-threat]",
            "before the last sentence": "[any-thread] Copies."}
    for path in headers.headers(root):
        text = path.read_text(encoding="utf-8")
        # Not where they are defined.
        places = [] if path.name == "base.h" else [match for match in TAG.finditer(text) if match[1] != STATE]
        edits = [(f"the tag at {text.count(chr(10), 0, place.start()) + 1} {how}", place.start(), place.end(), new)
                 for place in places for how, new in ways.items()]
        tail = text.rfind("\n} deputy_")
        if tail > 0:
            edits.append(("a function after data", tail, tail, "\n  void *spoilt;\n  void (*spoil)(void *self);"))
        for what, begin, end, new in edits:
            spoilt += 1
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "abi"
                shutil.copytree(root, copy)
                (copy / path.relative_to(root)).write_text(text[:begin] + new + text[end:], encoding="utf-8")
                if not check(copy)[1]:
                    wrong.append(f"{path.name}: {what}: not seen")
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
