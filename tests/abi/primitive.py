"""Reads primitive.fbs: the namespace, enums, tables with their fields in the order of their ids, the root. It fails on
everything that the file does not use today: structs, unions, includes, fields without ids."""

import re
from typing import NamedTuple

SINGLE = ("namespace", "root_type", "file_identifier")
TOKEN = re.compile(r'[A-Za-z_][\w.]*|-?\d[\w.]*|"[^"\n]*"|[{}()\[\]:;,=]|\S')
NUMBER = re.compile(r"-?\d[\w.]*")
# Attributes of a field, beside its id. `required` is for fields of a table's first version alone (schema.compare).
FLAGS = ("deprecated", "key", "required")
SCALARS = {"bool", "byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"}


class Unreadable(Exception):
    pass


class Flat(NamedTuple):
    single: dict  # "namespace": "deputy.schema"
    enums: dict  # name: (type, {value: number})
    tables: dict  # name: {field: "id type = default attribute ..."}


class Reader:
    def __init__(self, text):
        blank = re.sub(r"//[^\n]*", lambda match: " " * len(match[0]), text)
        self.tokens = [(match[0], text.count("\n", 0, match.start()) + 1) for match in TOKEN.finditer(blank)]
        self.tokens.append(("the end", text.count("\n") + 1))
        self.place = 0

    def fail(self, expected):
        token, line = self.tokens[self.place]
        raise Unreadable(f"primitive.fbs:{line}: {expected} is expected, not '{token}'")

    @property
    def token(self):
        return self.tokens[self.place][0]

    def take(self, expected):
        """The next token, which is `expected` or is matched by it."""
        token = self.token
        if not (expected.fullmatch(token) if isinstance(expected, re.Pattern) else token == expected):
            self.fail(expected.pattern if isinstance(expected, re.Pattern) else f"'{expected}'")
        self.place += 1
        return token

    def accept(self, token):
        if self.token != token or self.place == len(self.tokens) - 1:
            return False
        self.place += 1
        return True

    def read(self):
        flat = Flat({}, {}, {})
        while self.place < len(self.tokens) - 1:
            kind = self.take(re.compile(r"namespace|root_type|file_identifier|enum|table"))
            name = self.take(re.compile(r'"\w{4}"' if kind == "file_identifier" else r"[A-Za-z_][\w.]*"))
            if kind in SINGLE:
                if kind in flat.single:
                    self.fail(f"one {kind}")
                flat.single[kind] = name
                self.take(";")
            elif name in flat.enums or name in flat.tables:
                self.fail(f"{name} once")
            elif kind == "enum":
                flat.enums[name] = self.enum()
            else:
                flat.tables[name] = self.table(name)
        self.check(flat)
        return flat

    def enum(self):
        self.take(":")
        of, values = self.take(re.compile("u?byte|u?short|u?int|u?long")), {}
        self.take("{")
        while not self.accept("}"):
            value = self.take(re.compile(r"[A-Za-z_]\w*"))
            self.take("=")
            number = int(self.take(re.compile(r"-?\d+")))
            if values and number <= max(values.values()) or value in values:
                self.fail("each value once, in ascending order; after that of " + value)
            values[value] = number
            if self.token != "}":
                self.take(",")
        return of, values

    def table(self, name):
        fields = {}
        self.take("{")
        while not self.accept("}"):
            field = self.take(re.compile(r"[A-Za-z_]\w*"))
            self.take(":")
            of = "[" * self.accept("[") + self.take(re.compile(r"[A-Za-z_]\w*"))
            if of[0] == "[":
                self.take("]")
                of += "]"
            default = f" = {self.take(re.compile(r'-?[A-Za-z0-9_][A-Za-z0-9_.]*'))}" if self.accept("=") else ""
            number, attributes = self.attributes()
            if number != len(fields) or field in fields:
                self.fail(f"id {len(fields)}: ids without a gap, in the order of the text; behind {name}.{field}")
            fields[field] = " ".join([f"{number} {of}{default}", *attributes])
            self.take(";")
        return fields

    def attributes(self):
        number, attributes = None, []
        self.take("(")
        while True:
            name = self.take(re.compile("|".join(("id", "force_align", *FLAGS))))
            if name in FLAGS:
                attributes.append(name)
            else:
                self.take(":")
                value = self.take(re.compile(r"\d+"))
                if name == "id":
                    number = int(value)
                else:
                    attributes.append(f"{name}: {value}")
            if self.accept(")"):
                return number, sorted(attributes)
            self.take(",")

    def check(self, flat):
        missing = [kind for kind in SINGLE if kind not in flat.single]
        if missing:
            raise Unreadable(f"primitive.fbs: no {missing[0]}")
        known = SCALARS | {"string"} | set(flat.enums) | set(flat.tables)
        for table, fields in flat.tables.items():
            for field, text in fields.items():
                of = text.split()[1].strip("[]")
                if of not in known:
                    raise Unreadable(f"primitive.fbs: {table}.{field}: {of} is no type of this file")
        if flat.single["root_type"] not in flat.tables:
            raise Unreadable(f"primitive.fbs: the root {flat.single['root_type']} is no table of this file")


def parse(text):
    return Reader(text).read()
