"""The base of every edit of the ABI's headers and schema: the choice of a place by a seed, and the replacement of
text."""

import random


class Unlucky(Exception):
    """This seed found nothing to edit in this way."""


class Editor:
    """One edit of the headers below `root`, or of the schema; `what` names it, `signed` has its signed lines."""

    def __init__(self, root, schema_folder, abi, table, seed):
        self.root, self.schema, self.abi, self.table = root, schema_folder, abi, table
        self.random = random.Random(seed)
        self.what = self.signed = ""

    def choose(self, items):
        items = list(items)
        if not items:
            raise Unlucky
        return self.random.choice(items)

    def replace(self, header, *changes):
        """Each change is (start, end, text); the places are those of the unedited file."""
        path = self.root / header
        text = path.read_text(encoding="utf-8")
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        path.write_text(text, encoding="utf-8")

    def text(self, header, item):
        return (self.root / header).read_text(encoding="utf-8")[item.start:item.end]

    def struct(self, fits=lambda struct: True):
        return self.choose(struct for struct in self.abi.structs.values() if fits(struct))

    def function(self, fits=lambda item: True):
        """A function of a table, or the type of one: (header, item, its name for people)."""
        found = [(struct.header, field, f"{struct.name}.{field.name}") for struct in self.abi.structs.values()
                 for field in struct.fields if field.parameters is not None and fits(field)]
        found += [(item.header, item, item.name) for item in self.abi.typedefs.values()
                  if item.parameters is not None and fits(item)]
        return self.choose(found)

    def size_of(self, struct, field):
        return next(place.size for place in self.table.structs[struct.name].fields if place.name == field.name)
