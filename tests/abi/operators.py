"""Reads operators.inc, and compares two of its versions: the definitions that plugins know stay.

A line that is there stays as it is, with three exceptions, which go with a newer definition that is appended to the
same operator: the counts of inputs and outputs may widen, with operands behind the known ones, other element types and
other rules for attributes; an attribute may end with that definition (kStillThere becomes its since_version), or change
its kind with it (the line becomes that of a former attribute). None of them changes anything for the definitions that a
plugin knows.
"""

import re
from typing import NamedTuple

STILL_THERE = "kStillThere"
VARIADIC = "kVariadic"
# The macros with their parameters; the file gives each an empty default, and ends with #undef of each.
PARAMETERS = {
    "DEPUTY_OPERATOR_BEGIN": "(name, domain, min_inputs, max_inputs, min_outputs, max_outputs)",
    "DEPUTY_DEFINITION": "(name, since, change, types)",
    "DEPUTY_COUNTS": "(name, since, min_inputs, max_inputs, max_outputs)",
    "DEPUTY_ATTRIBUTE": "(name, kind, attribute, since, until, ...)",
    "DEPUTY_FORMER_ATTRIBUTE": "(name, kind, attribute, since, until, ...)",
    "DEPUTY_INPUTS": "(name, operands)",
    "DEPUTY_OUTPUTS": "(name, operands)",
    "DEPUTY_TYPES": "(name, variable, types)",
    "DEPUTY_REQUIRED": "(name, attribute, since)",
    "DEPUTY_VALUES": "(name, attribute, length, least, most)",
    "DEPUTY_WORDS": "(name, attribute, words)",
    "DEPUTY_OPERATOR_END": "(name)",
}
COUNT = re.compile(rf"\d+|{VARIADIC}")
TYPES = re.compile(r"k\w+(?: \| k\w+)*")
OPERAND = re.compile(r"\w+ ~?\w+(?:\.\.\.)?")
LENGTHS = ("kAnyLength", "kScalar", "kTwo", "kThree", "kFour", "kPerAxis", "kPerSpatialAxis", "kTwicePerSpatialAxis")
BOUND = re.compile(r"\d+|kMaxInt32|kMaxInt64")
INTEGER, REAL, TEXT = r"-?\d+", r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?f", r'"[^"\\]*"'


def several(one):
    return rf"{{(?:{one}(?:, {one})*)?}}"


DEFAULTS = {"Int": INTEGER, "Float": REAL, "String": TEXT, "Ints": several(INTEGER), "Floats": several(REAL),
            "Strings": several(TEXT), "Tensor": "nullptr"}


class Unreadable(Exception):
    pass


class Operator(NamedTuple):
    domain: str
    counts: tuple  # least and most inputs, least and most outputs
    definitions: list  # (since_version, change, types)
    attributes: dict  # name: (kind, since, until, default)
    former: dict  # the same
    operands: dict  # "inputs", "outputs": ["name type"]
    of_definitions: dict  # since_version: (min_inputs, max_inputs, max_outputs), where they are not those of `counts`
    types: dict  # type variable: element types
    rules: dict  # (attribute, "required", "values" or "words"): text


def empty(domain, counts):
    return Operator(domain, counts, [], {}, {}, {"inputs": [], "outputs": []}, {}, {}, {})


def arguments(text):
    """Those of a macro: split at commas outside of braces and texts, with one blank behind each comma that is left."""
    parts, depth = [""], 0
    for token in re.findall(r'"[^"\\]*"|\s+|[\w.]+|.', text):
        depth += token in "{("
        depth -= token in "})"
        if token == "," and depth == 0:
            parts.append("")
        elif token == ",":
            parts[-1] = parts[-1].rstrip() + ", "
        else:
            parts[-1] += "" if token.isspace() and parts[-1].endswith(" ") else " " if token.isspace() else token
    return [part.strip() for part in parts]


class Reader:
    def __init__(self):
        self.operators, self.name, self.defaults = {}, None, []

    def line(self, text):
        if text.startswith("#"):
            return self.directive(text.split(None, 1))
        macro, rest = re.fullmatch(r"(DEPUTY_\w+)\((.*)\)", text).groups()
        name, *values = arguments(rest)
        if self.defaults or macro not in PARAMETERS:
            raise ValueError
        if macro == "DEPUTY_OPERATOR_BEGIN":
            domain, *counts = values
            if self.name or name in self.operators or not re.fullmatch(r"[A-Za-z]\w*", name) or \
                    not re.fullmatch(r'"[\w.]*"', domain) or len(counts) != 4 or not all(map(COUNT.fullmatch, counts)):
                raise ValueError
            self.operators[name] = empty(domain, tuple(counts))
            self.name = name
        elif name != self.name:
            raise ValueError
        elif macro == "DEPUTY_DEFINITION":
            self.definition(*values)
        elif macro == "DEPUTY_COUNTS":
            self.counts(*values)
        elif macro in ("DEPUTY_INPUTS", "DEPUTY_OUTPUTS"):
            self.operands(macro.partition("_")[2].lower(), *values)
        elif macro == "DEPUTY_TYPES":
            self.types(*values)
        elif macro in ("DEPUTY_REQUIRED", "DEPUTY_VALUES", "DEPUTY_WORDS"):
            self.rule(macro.partition("_")[2].lower(), *values)
        elif macro == "DEPUTY_OPERATOR_END":
            if values or not self.operators[name].definitions:
                raise ValueError
            self.name = None
        else:
            self.attribute(macro, *values)
        return None

    def directive(self, words):
        """Either the empty default of a macro, in three lines, or its end."""
        kind, rest = words[0], words[1] if len(words) > 1 else ""
        if kind == "#ifndef" and rest in PARAMETERS and not self.defaults and not self.operators:
            self.defaults = [rest]
        elif kind == "#define" and len(self.defaults) == 1 and rest == self.defaults[0] + PARAMETERS[self.defaults[0]]:
            self.defaults.append(rest)
        elif kind == "#endif" and len(self.defaults) == 2 and not rest:
            self.defaults = []
        elif kind != "#undef" or rest not in PARAMETERS or self.name or not self.operators:
            raise ValueError

    def definition(self, since, change, types):
        made = self.operators[self.name].definitions
        if change not in ("kChanged", "kExtended") or not TYPES.fullmatch(types) or \
                made and int(since) <= made[-1][0]:
            raise ValueError
        made.append((int(since), change, types))

    def counts(self, since, *counts):
        operator = self.operators[self.name]
        known = operator.of_definitions
        if int(since) not in [definition[0] for definition in operator.definitions] or \
                known and int(since) <= max(known) or len(counts) != 3 or not all(map(COUNT.fullmatch, counts)):
            raise ValueError
        known[int(since)] = counts

    def operands(self, noun, text):
        added = re.fullmatch(TEXT, text)[0].strip('"').split(", ")
        if not all(map(OPERAND.fullmatch, added)):
            raise ValueError
        self.operators[self.name].operands[noun] += added

    def types(self, variable, types):
        known = self.operators[self.name].types
        if variable in known or not re.fullmatch(r"\w+", variable) or not TYPES.fullmatch(types):
            raise ValueError
        known[variable] = types

    def rule(self, aspect, attribute, *values):
        operator = self.operators[self.name]
        known = operator.attributes.get(attribute) or operator.former.get(attribute)
        fits = {"required": lambda since: int(since) in [definition[0] for definition in operator.definitions],
                "values": lambda length, least, most: length in LENGTHS and BOUND.fullmatch(least) and
                BOUND.fullmatch(most) and (known[0] == "Int") == (length == "kScalar") and known[0] in ("Int", "Ints"),
                "words": lambda words: re.fullmatch(TEXT, words) and known[0] == "String"}
        if not known or (attribute, aspect) in operator.rules or not fits[aspect](*values):
            raise ValueError
        operator.rules[attribute, aspect] = " ".join(values)

    def attribute(self, macro, kind, attribute, since, until, default):
        operator = self.operators[self.name]
        known = operator.attributes if macro == "DEPUTY_ATTRIBUTE" else operator.former
        versions = [definition[0] for definition in operator.definitions]
        if attribute in known or not re.fullmatch(r"[A-Za-z_]\w*", attribute) or int(since) not in versions or \
                until != STILL_THERE and int(until) not in versions or \
                until != STILL_THERE and int(until) <= int(since) or not re.fullmatch(DEFAULTS[kind], default):
            raise ValueError
        known[attribute] = (kind, since, until, default)


def parse(text):
    reader = Reader()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = re.sub(r'^((?:[^"/]|"[^"]*"|/(?!/))*)//.*', r"\1", line).strip()
        try:
            if stripped:
                reader.line(stripped)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Unreadable(f"operators.inc:{number}: cannot read '{stripped}'") from None
    if reader.name or not reader.operators:
        raise Unreadable("operators.inc: an operator without its end" if reader.name else "operators.inc: no operators")
    return reader.operators


def newest_opset(text):
    """Of ONNX's default domain."""
    known = parse(text).values()
    return max(int(since) for operator in known if operator.domain == '""' for since, *_ in operator.definitions)


def widened(old, new):
    """Whether the counts allow all that they allowed before."""
    def most(count):
        return float("inf") if count == VARIADIC else int(count)
    return all(most(now) <= most(was) if index % 2 == 0 else most(now) >= most(was)
               for index, (was, now) in enumerate(zip(old, new)))


def ended(was, is_now, appended):
    """Whether an attribute is as it was, but for its end, which is one of the appended definitions."""
    return bool(was[2] == STILL_THERE and is_now and is_now[2] in appended and is_now == (*was[:2], is_now[2], was[3]))


def compare(old, new):
    """The changes in `new` that break plugins and hosts built with `old`."""
    wrong = []
    for name, operator in old.items():
        if name not in new:
            wrong.append(f"{name} is gone")
            continue
        now = new[name]
        kept = now.definitions[:len(operator.definitions)]
        appended = [str(since) for since, *_ in now.definitions[len(operator.definitions):]]
        if kept != operator.definitions:
            was, is_now = next(((was, is_now) for was, is_now in zip(operator.definitions, kept) if was != is_now),
                               (operator.definitions[-1], "gone"))
            wrong.append(f"{name}: definition {was} is {is_now}")
        if now.domain != operator.domain:
            wrong.append(f"{name}: domain {operator.domain} is {now.domain}")
        if now.counts != operator.counts and not (appended and widened(operator.counts, now.counts)):
            wrong.append(f"{name}: inputs and outputs {operator.counts} are {now.counts}")
        of_known = {since: counts for since, counts in now.of_definitions.items() if str(since) not in appended}
        if operator.of_definitions not in ({}, of_known):
            wrong.append(f"{name}: counts of definitions {operator.of_definitions} are {of_known}")
        for attribute, was in operator.attributes.items():
            is_now = now.attributes.get(attribute)
            former = None if attribute in operator.former else now.former.get(attribute)
            renewed = is_now and ended(was, former, appended) and is_now[1] == former[2]
            if is_now != was and not ended(was, is_now, appended) and not renewed:
                wrong.append(f"{name}.{attribute} was {was}, is {is_now or 'gone'}")
        for noun, was in operator.operands.items():
            is_now = now.operands[noun]
            if is_now[:len(was)] != was or was and is_now != was and not appended:
                wrong.append(f"{name}: {noun} {', '.join(was)} are {', '.join(is_now)}")
        for what, was, is_now in (("types", operator.types, now.types), ("rules", operator.rules, now.rules)):
            if was != is_now and not appended and (operator.operands["outputs"] or was):
                wrong.append(f"{name}: {what} {was} are {is_now}")
        wrong += [f"{name}.{attribute} was {was} before it changed, is {now.former.get(attribute, 'gone')}"
                  for attribute, was in operator.former.items() if now.former.get(attribute) != was]
    return wrong
