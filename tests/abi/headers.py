"""Reads the ABI headers whole: typedefs, structs with their fields, enumerators and constants, each with its place in
the text. It knows just the C that these headers may use and fails on everything else, so that nothing escapes the
checks that are built on it."""

import re
from pathlib import Path
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", re.M)
TOKEN = re.compile(r'[A-Za-z_]\w*|\d\w*|"(?:[^"\\]|\\.)*"|<<|>>|[^\sA-Za-z_0-9"]')
DRAFT = "ext/draft"  # extensions there are promised to nobody


class Token(NamedTuple):
    text: str
    start: int
    end: int


class Parameter(NamedTuple):
    type: str  # "const deputy_str *"
    name: str
    start: int
    end: int


class Field(NamedTuple):
    name: str
    type: str  # of a function: what it returns
    parameters: tuple  # None: not a function
    text: str  # the declaration, spaced in one way
    start: int
    end: int  # behind the semicolon


class Struct(NamedTuple):
    name: str
    fields: tuple
    header: str
    end: int  # of the body: the closing brace

    @property
    def grows(self):
        return bool(self.fields) and self.fields[0].name == "struct_size"


class Enumerator(NamedTuple):
    name: str
    group: str  # name of the first enumerator of its enum
    value: str
    header: str
    start: int
    end: int


class Typedef(NamedTuple):
    name: str
    text: str
    type: str  # of a function: what it returns
    parameters: tuple  # None: not a function
    header: str
    start: int
    end: int


class Constant(NamedTuple):
    name: str
    value: str
    header: str
    start: int
    end: int


class Abi(NamedTuple):
    version: tuple
    headers: tuple  # "deputy/abi/base.h", ...
    structs: dict
    typedefs: dict
    enumerators: dict
    constants: dict
    opaque: set  # structs that only their owner knows


class Unreadable(Exception):
    pass


def headers(root):
    found = sorted(Path(root).rglob("*.h"))
    if not found:
        raise SystemExit(f"{root}: no headers")
    return found


def spaced(tokens):
    """The one way of writing a declaration: pointers on the name, a space behind commas."""
    text = ""
    for token in (token.text if isinstance(token, Token) else token for token in tokens):
        word = re.match(r"\w", token) or token in ("<<", ">>", "|")
        if text and (word or token == "*") and text[-1] not in "(*[":
            text += " "
        if token == "(" and text and (text[-1].isalnum() or text[-1] == "_"):
            text += " "
        text += token
    return text


class Reader:
    def __init__(self, path, name):
        self.name = name
        self.text = path.read_text(encoding="utf-8")
        self.blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        self.typedefs, self.structs, self.enumerators, self.constants, self.opaque = [], [], [], [], set()
        self.read_directives()
        code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.blank)
        self.read_declarations([Token(match[0], *match.span()) for match in TOKEN.finditer(code)])

    def fail(self, what, start):
        raise Unreadable(f"{self.name}:{self.text.count(chr(10), 0, start) + 1}: {what}")

    def read_directives(self):
        """Constants stand inside the include guard and nothing else; what stands deeper is no part of the ABI."""
        depth = 0
        self.conditional = []  # spans of what stands deeper
        opened = None
        for match in DIRECTIVE.finditer(self.blank):
            words = match[0].split()
            directive = words[0].lstrip("#") or words[1]
            if directive in ("if", "ifdef", "ifndef"):
                depth += 1
                if depth == 2:
                    opened = match.end()
            elif directive == "endif":
                if depth == 2:
                    self.conditional.append((opened, match.start()))
                depth -= 1
            elif directive == "define" and depth == 1:
                made = re.match(r"\s*#\s*define\s+(\w+)(\(|\s+(.*\S))?", match[0], re.S)
                if made[3] is not None:
                    value = spaced(token[0] for token in TOKEN.finditer(made[3].replace("\\\n", " ")))
                    start = match.start() + made.start(3)
                    self.constants.append(Constant(made[1], value, self.name, start, match.start() + made.end(3)))
            elif directive not in ("include", "else", "elif", "define"):
                self.fail(f"#{directive} is not expected here", match.start())

    def read_declarations(self, tokens):
        start, depth = 0, 0
        for index, token in enumerate(tokens):
            depth += token.text in "{("
            depth -= token.text in "})"
            if token.text == ";" and depth == 0:
                self.read_declaration(tokens[start:index])
                start = index + 1
        if start != len(tokens):
            self.fail("a declaration without an end", tokens[start].start)

    def read_declaration(self, tokens):
        place = tokens[0].start
        for opened, closed in self.conditional:
            if opened <= place < closed:
                self.fail("a declaration inside an #if", place)
        words = [token.text for token in tokens]
        if words[0] == "enum" and words[1] == "{" and words[-1] == "}":
            return self.read_enum(tokens[2:-1])
        if "{" in words:
            open_brace = words.index("{")
            close_brace = len(words) - 1 - words[::-1].index("}")
            head, tail = words[:open_brace], words[close_brace + 1:]
            if head[-2:-1] == ["struct"] and (head, tail) in (
                (["struct", head[-1]], []), (["typedef", "struct", head[-1]], [head[-1]])
            ):
                fields = self.read_fields(tokens[open_brace + 1:close_brace])
                self.structs.append(Struct(head[-1], fields, self.name, tokens[close_brace].start))
                return None
        elif words[:2] == ["typedef", "struct"] and len(words) == 4 and words[2] == words[3]:
            self.opaque.add(words[2])
            return None
        elif words[0] == "typedef":
            made = self.read_declarator(tokens[1:])
            self.typedefs.append(
                Typedef(made.name, made.text, made.type, made.parameters, self.name, place, tokens[-1].end))
            return None
        return self.fail(f"cannot read the declaration '{spaced(tokens)}'", place)

    def read_enum(self, tokens):
        group = None
        for part in self.split(tokens, ","):
            if len(part) < 3 or part[1].text != "=":
                self.fail("an enumerator without its value", part[0].start)
            group = group or part[0].text
            self.enumerators.append(Enumerator(part[0].text, group, spaced(part[2:]), self.name, part[0].start,
                                               part[-1].end))

    def read_fields(self, tokens):
        if tokens and tokens[-1].text != ";":
            self.fail("a field without an end", tokens[-1].start)
        fields = []
        for part in self.split(tokens, ";"):
            made = self.read_declarator(part)
            end = next(token.end for token in tokens if token.start >= part[-1].end)
            fields.append(made._replace(end=end))
        return tuple(fields)

    def split(self, tokens, separator):
        parts, depth = [[]], 0
        for token in tokens:
            depth += token.text in "([{"
            depth -= token.text in ")]}"
            if token.text == separator and depth == 0:
                parts.append([])
            else:
                parts[-1].append(token)
        return [part for part in parts if part]

    def read_declarator(self, tokens):
        """A field, or what follows `typedef`."""
        words = [token.text for token in tokens]
        text = spaced(tokens)
        place, end = tokens[0].start, tokens[-1].end
        if "(" in words:
            first = words.index("(")
            if words[first + 1:first + 2] != ["*"] or words[first + 3:first + 5] != [")", "("] or words[-1] != ")":
                self.fail(f"cannot read '{text}'", place)
            parameters = []
            for part in self.split(tokens[first + 5:-1], ","):
                if len(part) == 1 and part[0].text == "void":
                    continue
                if len(part) < 2 or not part[-1].text.isidentifier():
                    self.fail(f"a parameter of '{words[first + 2]}' has no name", part[0].start)
                parameters.append(Parameter(spaced(part[:-1]), part[-1].text, part[0].start, part[-1].end))
            return Field(words[first + 2], spaced(tokens[:first]), tuple(parameters), text, place, end)
        if "," in words or ":" in words or "[" in words or len(words) < 2 or not words[-1].isidentifier():
            self.fail(f"cannot read '{text}': one plain declaration each", place)
        return Field(words[-1], spaced(tokens[:-1]), None, text, place, end)


def read(root, drafts=False):
    """The ABI in the folder `root` (.../deputy/abi). Without `drafts` what lies in ext/draft is left out."""
    root = Path(root)
    abi = Abi(None, [], {}, {}, {}, {}, set())
    for path in headers(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(DRAFT) and not drafts:
            continue
        reader = Reader(path, name)
        abi.headers.append(f"deputy/abi/{name}")
        abi.opaque.update(reader.opaque)
        for kind in ("structs", "typedefs", "enumerators", "constants"):
            known = getattr(abi, kind)
            for item in getattr(reader, kind):
                if item.name in known:
                    raise Unreadable(f"{name}: {item.name} is defined twice")
                known[item.name] = item
    abi.opaque.difference_update(abi.structs)
    numbers = [abi.constants.pop(f"DEPUTY_ABI_{part}", None) for part in ("MAJOR", "MINOR")]
    if None in numbers:
        raise Unreadable("DEPUTY_ABI_MAJOR or DEPUTY_ABI_MINOR is missing")
    return abi._replace(version=tuple(int(number.value.rstrip("u")) for number in numbers))
