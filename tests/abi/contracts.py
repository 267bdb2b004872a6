"""The contracts of the ABI: the comment of each function, of each struct and of each of its fields. The golden files
hold a hash of each, and a contract that was released changes only by a signed line.

The comment of a struct stands above it, on its opening line, or behind its last field. That of a field stands above
it, inside it, or behind it on its line. Functions of a table in a row share the comment above the first of them. The
type of a function has the comment above it, where nothing but #define may stand between. All other comments belong to
no contract: those of files, of macros, of enumerators.

A signed line is one line of tests/abi/contracts_MAJOR_MINOR.txt, written by hand and reviewed, for one deliberate
change:

  deputy_delegate.open 0123456789abcdef fedcba9876543210 says that the host closes the instance, as it always did

These are the function (struct, field), the hash that the golden file holds, the new hash, and the reason. `#` begins a
comment. A line that signs no change is wrong, since it would allow one later.
"""

import hashlib
import re
from typing import NamedTuple

import headers

OPTIONAL = "[optional]"  # at the end of a slot's comment: the slot may be NULL
NONE = "-"  # in place of the hash where there is no comment
HASH = re.compile(r"[0-9a-f]{16}|-")


class Contract(NamedTuple):
    name: str  # "deputy_delegate", "deputy_delegate.open", "deputy_parallel_fn"
    text: str  # the comment's words; empty where there is none
    header: str
    line: int
    function: bool
    table: bool  # a slot of a struct with struct_size
    comments: tuple  # (start, end) of each comment in the header

    @property
    def optional(self):
        return self.text.endswith(OPTIONAL)


def words(comment):
    """The comment's text without its marks, on one line."""
    lines = (re.sub(r"^\s*\*(?=\s|$)", "", line) for line in comment[2:-2].splitlines())
    return " ".join(" ".join(lines).split())


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else NONE


class Comments:
    """The comments of one header by their places."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.spans = [match.span() for match in headers.COMMENT.finditer(text)]

    def contract(self, name, start, spans, function=False, table=False):
        text = " ".join(words(self.text[begin:end]) for begin, end in spans)
        return Contract(name, text, self.name, self.text.count("\n", 0, start) + 1, function, table, tuple(spans))

    def begins_its_line(self, place):
        return not self.text[self.text.rfind("\n", 0, place) + 1:place].strip()

    def above(self, place, behind_defines=False):
        """Those that end where the item at `place` begins, with nothing but blanks between."""
        found = []
        for begin, end in reversed([span for span in self.spans if span[1] <= place]):
            between = self.text[end:place]
            if behind_defines:
                between = re.sub(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\n|\\.)*$", "", between, flags=re.M)
            if between.strip() or not self.begins_its_line(begin):
                break
            found.insert(0, (begin, end))
            place = begin
        return found

    def inside(self, item):
        return [span for span in self.spans if item.start <= span[0] < item.end]

    def behind(self, place, limit=None):
        """Those that begin on the line on which the item before `place` ends."""
        return [span for span in self.spans if place <= span[0] < (limit or len(self.text))
                and "\n" not in self.text[place:span[0]]]

    def of_struct(self, struct):
        """The comments of the struct itself, on its opening line and behind its last field; its fields' contracts."""
        opened = re.search(rf"\bstruct\s+{struct.name}\s*{{", self.text).end()
        places = [opened] + [field.end for field in struct.fields]
        limits = [field.start for field in struct.fields] + [struct.end]
        trailing = [self.behind(place, limit) for place, limit in zip(places, limits)]
        leading = [[span for span in self.spans if place <= span[0] < limit and span not in known]
                   for place, limit, known in zip(places, limits, trailing)]
        shared, contracts = [], []
        for field, above, behind in zip(struct.fields, leading, trailing[1:]):
            function = field.parameters is not None
            shared = (above or shared) if function else []
            contracts.append(self.contract(f"{struct.name}.{field.name}", field.start,
                                           (shared if function else above) + self.inside(field) + behind,
                                           function, function and struct.grows))
        return trailing[0] + leading[-1], contracts


def read(abi):
    """All contracts of the headers, by name."""
    contracts = {}
    comments = {name: Comments(name, text) for name, text in abi.texts.items()}
    for name in dict.fromkeys([*abi.structs, *abi.forwards]):
        spans, fields, place = {}, [], None
        if name in abi.forwards:
            forward = abi.forwards[name]
            place, known = forward, comments[forward.header]
            spans = {forward.header: known.above(forward.start) + known.behind(forward.end)}
        if name in abi.structs:
            struct = place = abi.structs[name]
            known = comments[struct.header]
            own, fields = known.of_struct(struct)
            begin = re.search(rf"(?:\btypedef\s+)?\bstruct\s+{name}\s*{{", known.text).start()
            spans[struct.header] = spans.get(struct.header, []) + known.above(begin) + own
        made = [comments[header].contract(name, place.end, those) for header, those in spans.items()]
        contracts[name] = made[-1]._replace(text=" ".join(filter(None, (one.text for one in made))))
        contracts.update({field.name: field for field in fields})
    for item in abi.typedefs.values():
        if item.parameters is not None:
            known = comments[item.header]
            spans = known.above(item.start, behind_defines=True) + known.inside(item) + known.behind(item.end)
            contracts[item.name] = known.contract(item.name, item.start, spans, function=True)
    return contracts


class Signed(NamedTuple):
    name: str
    old: str
    new: str
    source: str  # file and line


def parse_signed(text, source):
    """The signed lines of a file."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, old, new, *reason = line.split()[:4] + [""] * (4 - len(line.split()))
        if not (HASH.fullmatch(old) and HASH.fullmatch(new)) or old == new or not any(reason):
            raise SystemExit(f"{source}:{number}: '{line}' is not: name, old hash, new hash, reason")
        if any((name, old, new) == known[:3] for known in lines):
            raise SystemExit(f"{source}:{number}: signed twice")
        lines.append(Signed(name, old, new, f"{source}:{number}"))
    return lines


def chain(name, old, new, signed):
    """The signed lines that lead from the old hash to the new one; None if none do."""
    found = {old: []}
    waiting = [old]
    while waiting:
        present = waiting.pop(0)
        for line in signed:
            if line.name == name and line.old == present and line.new not in found:
                found[line.new] = found[present] + [line]
                waiting.append(line.new)
    return found.get(new)


def compare(old, new, signed=(), used=None):
    """Contracts ({name: hash}) of `old` that read otherwise in `new` without a signed line; `used` collects the lines
    that were needed. A contract that is gone has gone with its function or struct, which the layout reports."""
    wrong = []
    for name, before in old.items():
        now = new.get(name, before)
        lines = chain(name, before, now, signed)
        if lines is None:
            wrong.append(f"{name}: its contract reads otherwise, hash {before} is {now}; if that is deliberate, it "
                         f"needs a signed line in contracts_MAJOR_MINOR.txt: {name} {before} {now} and the reason")
        elif used is not None:
            used.update(lines)
    return wrong


def unused(signed, used):
    """Signed lines that were not needed."""
    return [f"{line.source}: signs no change ({line.name} {line.old} {line.new})" for line in signed
            if line not in used]
