"""Reads the ABI headers whole: typedefs, structs with their fields, enumerators, constants and macros, each with its
place in the text. It knows just the C that these headers may use and fails on everything else, so that nothing escapes
the checks that are built on it."""

import functools
import re
from pathlib import Path
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", re.M)
# Names, numbers, texts, characters and the punctuators of C.
QUOTED = r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')"""
TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|" + QUOTED + r"|\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|&&|\|\||\#\#|[-+*/%&|^<>=!]="
                   r"""|[^\sA-Za-z_0-9"']""")
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


class Macro(NamedTuple):
    """A macro with parameters, or one whose text depends on the compiler; several of one name have conditions that
    exclude each other."""
    name: str
    text: str  # "(p, T, f) = ((size_t) ...", and the condition under which it is defined
    header: str
    start: int  # of the parameters, or of what stands for the name
    end: int


class Forward(NamedTuple):
    """A struct that is declared and not defined there: `typedef struct deputy_graph deputy_graph;`"""
    name: str
    header: str
    start: int
    end: int


class Abi(NamedTuple):
    version: tuple
    headers: tuple  # "deputy/abi/base.h", ...
    texts: dict  # "base.h": the header's text
    structs: dict
    typedefs: dict
    enumerators: dict
    constants: dict
    macros: dict  # name: [Macro]
    forwards: dict
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


def packed(text):
    """The text of a macro with one blank between tokens and none beside brackets: two texts are the same if, and only
    if, their tokens are."""
    joined = " ".join(match[0] for match in TOKEN.finditer(text.replace("\\\n", " ")))
    return re.sub(QUOTED + r"|(?<=[(\[{]) | (?=[)\]},;])", lambda match: match[1] or "", joined)


class Reader:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        self.typedefs, self.structs, self.enumerators, self.constants, self.macros = [], [], [], [], []
        self.forwards = []
        self.read_directives()
        code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.blank)
        self.read_declarations([Token(match[0], *match.span()) for match in TOKEN.finditer(code)])

    def fail(self, what, start):
        raise Unreadable(f"{self.name}:{self.text.count(chr(10), 0, start) + 1}: {what}")

    def read_directives(self):
        """Constants stand inside the include guard and nothing else; a macro that stands deeper depends on the
        compiler, and its condition is part of it."""
        branches = []  # for each open #if: the conditions up to the present branch
        self.conditional = []  # spans of what stands deeper than the guard
        guard = opened = None
        for index, match in enumerate(DIRECTIVE.finditer(self.blank)):
            directive, rest = re.match(r"\s*#\s*(\w+)(.*)", match[0], re.S).groups()
            condition = packed(rest)
            if index == 0:
                if directive != "ifndef":
                    self.fail("the include guard does not stand first", match.start())
                guard = condition
            elif not branches:
                self.fail(f"#{directive} outside of the include guard", match.start())
            if directive in ("if", "ifdef", "ifndef"):
                named = {"if": condition, "ifdef": f"defined ({condition})", "ifndef": f"! defined ({condition})"}
                branches.append([named[directive]])
                if len(branches) == 2:
                    opened = match.end()
            elif directive in ("elif", "else") and len(branches) > 1:
                branches[-1].append(condition if directive == "elif" else "1")
            elif directive == "endif":
                if len(branches) == 2:
                    self.conditional.append((opened, match.start()))
                branches.pop()
            elif directive == "define":
                self.read_definition(match, branches[1:], guard)
            elif directive != "include":
                self.fail(f"#{directive} is not expected here", match.start())

    def read_definition(self, match, branches, guard):
        """A constant, or a macro: one with parameters, one without a value, one under a condition."""
        name, parameters, text = re.match(r"\s*#\s*define\s+(\w+)(\([^()]*\))?(.*)", match[0], re.S).groups()
        if name == guard:
            return
        start = match.start() + match[0].index(name) + len(name)
        value = packed(text)
        if value and not parameters and not branches:
            start += len(text) - len(text.lstrip())
            value = spaced(token[0] for token in TOKEN.finditer(text.replace("\\\n", " ")))
            self.constants.append(Constant(name, value, self.name, start, match.start() + len(match[0].rstrip())))
            return
        conditions = []
        for branch in branches:
            conditions += [f"! ({condition})" for condition in branch[:-1]] + [branch[-1]] * (branch[-1] != "1")
        text = " ".join(part for part in (packed(parameters or ""), "=", value) if part)
        if conditions:
            text += " #if " + " && ".join(f"({condition})" for condition in conditions)
        self.macros.append(Macro(name, text, self.name, start, match.start() + len(match[0].rstrip())))

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
            self.forwards.append(Forward(words[2], self.name, place, tokens[-1].end))
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


@functools.lru_cache(maxsize=256)
def reader_of(name, text):
    """Of one header: of many edits, each leaves all others as they are."""
    return Reader(name, text)


def read(root, drafts=False):
    """The ABI in the folder `root` (.../deputy/abi). Without `drafts` what lies in ext/draft is left out."""
    root = Path(root)
    abi = Abi(None, [], {}, {}, {}, {}, {}, {}, {}, set())
    for path in headers(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(DRAFT) and not drafts:
            continue
        reader = reader_of(name, path.read_text(encoding="utf-8"))
        abi.headers.append(f"deputy/abi/{name}")
        abi.texts[name] = reader.text
        for macro in reader.macros:
            abi.macros.setdefault(macro.name, []).append(macro)
        for kind in ("structs", "typedefs", "enumerators", "constants", "forwards"):
            known = getattr(abi, kind)
            for item in getattr(reader, kind):
                if item.name in known:
                    raise Unreadable(f"{name}: {item.name} is defined twice")
                known[item.name] = item
    abi.opaque.update(set(abi.forwards) - set(abi.structs))
    numbers = [abi.constants.pop(f"DEPUTY_ABI_{part}", None) for part in ("MAJOR", "MINOR")]
    if None in numbers:
        raise Unreadable("DEPUTY_ABI_MAJOR or DEPUTY_ABI_MINOR is missing")
    return abi._replace(version=tuple(int(number.value.rstrip("u")) for number in numbers))
