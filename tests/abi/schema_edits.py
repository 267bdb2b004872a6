"""Edits of primitive.fbs and operators.inc."""

import re

import operators
from editor import Editor, Unlucky

FIELD = re.compile(r"(\w+): (\[?\w+\]?)( = \w+)? \((id: (\d+)[^)]*)\);")
TABLE = re.compile(r"table (\w+) \{([^}]*)\}")
ENUM = re.compile(r"enum (\w+) : (\w+) \{([^}]*)\}")
OPERATOR = re.compile(r"^DEPUTY_OPERATOR_BEGIN\((\w+), ([^\n]*)\)\n.*?^DEPUTY_OPERATOR_END\(\1\)\n", re.M | re.S)
DEFINITION = re.compile(r"^  DEPUTY_DEFINITION\((\w+), (\d+), (\w+), ([^\n]*)\)\n", re.M)
COUNTS = re.compile(r"^  DEPUTY_COUNTS\((\w+), (\d+), ([^\n]*)\)\n", re.M)
ATTRIBUTE = re.compile(r"^  DEPUTY_ATTRIBUTE\((\w+), (\w+), (\w+), (\d+), (\w+), ([^\n]*)\)\n", re.M)
OPERANDS = re.compile(r'^  DEPUTY_(?:IN|OUT)PUTS\((\w+), "(\w+) (~?\w+)', re.M)
VARIABLE = re.compile(r"^  DEPUTY_TYPES\((\w+), (\w+), ([^\n]*)\)\n", re.M)
RULE = re.compile(r"^  DEPUTY_(REQUIRED|VALUES|WORDS)\((\w+), (\w+), ([^\n]*)\)\n", re.M)
OTHER = {"Int": "77", "Float": "77.5f", "String": '"OTHER"', "Ints": "{77}", "Floats": "{77.5f}",
         "Strings": '{"OTHER"}'}


class SchemaEditor(Editor):
    def edit(self, name, *changes):
        self.replace(self.schema / name, *changes)

    def flat(self):
        return (self.schema / "primitive.fbs").read_text(encoding="utf-8")

    def listed(self):
        return (self.schema / "operators.inc").read_text(encoding="utf-8")

    def field(self, fits=lambda field: True):
        """A field of a table, and those of its table."""
        table = self.choose(TABLE.finditer(self.flat()))
        fields = list(FIELD.finditer(self.flat(), *table.span(2)))
        field = self.choose(field for field in fields if fits(field))
        self.what = f"{table[1]}.{field[1]}"
        return field, fields

    def set(self, field, part, new):
        self.what += f": '{field[part]}' becomes '{new}'"
        self.edit("primitive.fbs", (*field.span(part), new))

    def operator(self, fits=lambda operator: True):
        operator = self.choose(operator for operator in OPERATOR.finditer(self.listed()) if fits(operator))
        self.what = operator[1]
        return operator

    def definitions(self, operator):
        return list(DEFINITION.finditer(self.listed(), *operator.span()))

    def attribute(self, fits=lambda attribute: True):
        attribute = self.choose(item for item in ATTRIBUTE.finditer(self.listed()) if fits(item))
        self.what = f"{attribute[1]}.{attribute[3]}"
        return attribute

    def set_line(self, match, part, new):
        self.what += f": '{match[part]}' becomes '{new}'"
        self.edit("operators.inc", (*match.span(part), new))

    # Harmful: primitive.fbs.

    def delete_schema_field(self):
        """With the ids behind it moved up, or the last one."""
        field, fields = self.field()
        behind = fields[fields.index(field) + 1:]
        self.edit("primitive.fbs", (*field.span(), ""), *((*item.span(5), str(int(item[5]) - 1)) for item in behind))

    def swap_schema_fields(self):
        field, fields = self.field()
        other = self.choose(item for item in fields if item != field)
        self.edit("primitive.fbs", (*field.span(1), other[1]), (*other.span(1), field[1]))

    def insert_schema_field(self):
        field, fields = self.field()
        behind = fields[fields.index(field):]
        self.edit("primitive.fbs", (field.start(), field.start(), f"inserted: int (id: {field[5]}); "),
                  *((*item.span(5), str(int(item[5]) + 1)) for item in behind))

    def retype_schema_field(self):
        field, _ = self.field()
        other = {"int": "uint", "long": "ulong", "[long]": "[ulong]", "string": "[ubyte]"}
        self.set(field, 2, other.get(field[2], "short"))

    def rename_schema_field(self):
        field, _ = self.field()
        self.set(field, 1, f"{field[1]}_renamed")

    def change_a_default(self):
        field, _ = self.field(lambda field: field[2] in ("int", "long", "AttributeType"))
        self.set(field, 2, f"{field[2]} = {'Int' if field[2] == 'AttributeType' else 5}")

    def change_attributes_of_a_schema_field(self):
        field, _ = self.field()
        self.set(field, 4, f"id: {field[5]}" if "," in field[4] else f"{field[4]}, deprecated")

    def append_required_schema_field(self):
        _, fields = self.field()
        end = fields[-1].end()
        self.edit("primitive.fbs", (end, end, f" more: string (id: {len(fields)}, required);"))

    def change_schema_value(self):
        """Delete, renumber, rename one, or insert another in front of it."""
        enum = self.choose(ENUM.finditer(self.flat()))
        values = list(re.finditer(r"(\w+) = (\d+),? ?", enum[3]))
        value = self.choose(values[1:])
        begin, end = (enum.start(3) + place for place in value.span())
        new = self.random.choice(("", f"{value[1]} = {int(value[2]) + 50}, ", f"{value[1]}_renamed = {value[2]}, ",
                                  f"Inserted = {value[2]}, {value[1]} = {int(value[2]) + 100}, "))
        last = value == values[-1]
        self.what = f"{enum[1]}: '{value[0]}' becomes '{new}'"
        self.edit("primitive.fbs", (begin, end, new.rstrip(", ") + " " * (new == "") if last else new))

    def change_type_of_a_schema_enum(self):
        enum = self.choose(ENUM.finditer(self.flat()))
        self.what = enum[1]
        self.edit("primitive.fbs", (*enum.span(2), "ushort" if enum[2] != "ushort" else "ubyte"))

    def change_the_root(self):
        match = self.choose(re.finditer(r'namespace ([\w.]+);|root_type (\w+);|file_identifier "(\w+)";', self.flat()))
        part = match.lastindex
        new = "Attribute" if part == 2 else match[part][::-1].lower() if part == 1 else "OTHR"
        self.what = f"{match[0]} becomes {new}"
        self.edit("primitive.fbs", (*match.span(part), new))

    def use_an_unknown_declaration(self):
        new = self.random.choice(('include "other.fbs";\n', "struct Pair { a: int; b: int; }\n", "union Any { Text }\n",
                                  "attribute \"other\";\n"))
        self.what = new.strip()
        self.edit("primitive.fbs", (0, 0, new))

    # Harmful: operators.inc.

    def delete_operator(self):
        self.edit("operators.inc", (*self.operator().span(), ""))

    def change_domain(self):
        operator = self.operator()
        domain = re.search(r'"[^"]*"', operator[2])
        begin = operator.start(2)
        self.edit("operators.inc", (begin + domain.start(), begin + domain.end(), '"com.other"'))

    def change_counts(self):
        """A wider count too, without a newer definition."""
        operator = self.operator()
        count = self.choose(re.finditer(r"\b\d+\b|kVariadic", operator[2]))
        begin = operator.start(2)
        new = "9" if count[0] == operators.VARIADIC else str(int(count[0]) + 1)
        self.what += f": {count[0]} becomes {new}"
        self.edit("operators.inc", (begin + count.start(), begin + count.end(), new))

    def delete_definition(self):
        operator = self.operator(lambda operator: len(self.definitions(operator)) > 1)
        definition = self.choose(self.definitions(operator))
        self.what += f" {definition[2]}"
        self.edit("operators.inc", (*definition.span(), ""))

    def insert_older_definition(self):
        operator = self.operator(lambda operator: int(self.definitions(operator)[-1][2]) > 1)
        newest = self.definitions(operator)[-1]
        taken = {int(definition[2]) for definition in self.definitions(operator)}
        free = self.choose(version for version in range(max(taken) - 1, 0, -1) if version not in taken)
        place = next(item for item in self.definitions(operator) if int(item[2]) > free).start()
        self.what += f" {free}"
        self.edit("operators.inc", (place, place,
                                    f"  DEPUTY_DEFINITION({operator[1]}, {free}, kChanged, {newest[4]})\n"))

    def change_definition(self):
        definition = self.choose(DEFINITION.finditer(self.listed()))
        part = self.random.choice((2, 3, 4))
        self.what = definition[1]
        self.set_line(definition, part, {2: str(int(definition[2]) + 100), 4: f"{definition[4]} | kOther",
                                         3: "kChanged" if definition[3] == "kExtended" else "kExtended"}[part])

    def change_counts_of_definitions(self):
        counts = self.choose(COUNTS.finditer(self.listed()))
        self.what = f"{counts[1]}-{counts[2]}"
        if self.random.random() < 0.5:
            self.edit("operators.inc", (*counts.span(), ""))
        else:
            self.set_line(counts, 3, re.sub(r"\w+$", "9", counts[3]))

    def delete_attribute(self):
        self.edit("operators.inc", (*self.attribute().span(), ""))

    def change_attribute(self):
        attribute = self.attribute(lambda attribute: attribute[2] in OTHER)
        part = self.random.choice((2, 3, 6))
        self.set_line(attribute, part, {2: "Int" if attribute[2] != "Int" else "Float", 3: f"{attribute[3]}_renamed",
                                        6: OTHER[attribute[2]]}[part])

    def end_attribute_with_a_known_definition(self):
        attribute = self.attribute(lambda attribute: attribute[5] == operators.STILL_THERE)
        later = [item[2] for item in DEFINITION.finditer(self.listed()) if item[1] == attribute[1]
                 and int(item[2]) > int(attribute[4])]
        self.set_line(attribute, 5, self.choose(later))

    def change_operands(self):
        operands = self.choose(OPERANDS.finditer(self.listed()))
        part = self.random.choice((2, 3))
        self.what = operands[1]
        self.set_line(operands, part, operands[part] + "x" if part == 2 else "float64")

    def change_types_of_a_variable(self):
        variable = self.choose(VARIABLE.finditer(self.listed()))
        self.what = variable[1]
        self.set_line(variable, 3, f"{variable[3]} | kOther")

    def change_a_rule(self):
        rule = self.choose(RULE.finditer(self.listed()))
        self.what = f"{rule[2]}.{rule[3]}"
        if rule[1] == "REQUIRED":
            self.edit("operators.inc", (*rule.span(), ""))
        else:
            self.set_line(rule, 4, rule[4].replace("kMaxInt32", "7") if "kMaxInt32" in rule[4] else
                          rule[4][:-1] + ' other"' if rule[1] == "WORDS" else rule[4][:-1] + "77")

    def put_an_operator_under_a_condition(self):
        operator = self.operator()
        self.edit("operators.inc", (operator.start(), operator.start(), "#if defined(NDEBUG)\n"),
                  (operator.end(), operator.end(), "#endif\n"))

    # Legal.

    def append_schema_field(self):
        _, fields = self.field()
        new = self.random.choice(("more: string", "more: [long]", "more: int = 7", "more: TensorData"))
        self.edit("primitive.fbs", (fields[-1].end(), fields[-1].end(), f"\n  {new} (id: {len(fields)});"))

    def append_schema_value(self):
        enum = self.choose(ENUM.finditer(self.flat()))
        last = max(int(number) for number in re.findall(r"= (\d+)", enum[3]))
        self.what = enum[1]
        self.edit("primitive.fbs", (enum.start(3) + len(enum[3].rstrip()), enum.end(3),
                                    f", Appended = {last + self.random.choice((1, 30))} "))

    def append_schema_table(self):
        self.what = "Appended"
        place = self.flat().index("root_type")
        self.edit("primitive.fbs", (place, place, "enum Kind : ubyte { One = 1 }\n"
                                    "table Appended { kind: Kind = One (id: 0); name: string (id: 1, required); }\n"))

    def reword_a_comment_of_the_schema(self):
        name, comment = self.choose(
            (name, match) for name in ("primitive.fbs", "operators.inc")
            for match in re.finditer(r"//[^\n]*", (self.schema / name).read_text(encoding="utf-8")))
        self.what = f"{name}: {comment[0][:30]}..."
        self.edit(name, (*comment.span(), "// Said in other words; table {."))

    def rewrap_the_schema(self):
        self.what = "primitive.fbs"
        self.edit("primitive.fbs", *((*field.span(4), field[4].replace(": ", ":").replace(", ", ",\n   "))
                                     for field in FIELD.finditer(self.flat())))

    def append_operator(self):
        """In alphabetical order, so between two others."""
        place = self.operator().start()
        self.edit("operators.inc", (place, place, 'DEPUTY_OPERATOR_BEGIN(Appended, "", 1, kVariadic, 1, 1)\n'
                                    "  DEPUTY_DEFINITION(Appended, 30, kChanged, kFloats)\n"
                                    "  DEPUTY_ATTRIBUTE(Appended, Ints, axes, 30, kStillThere, {0, 1})\n"
                                    "DEPUTY_OPERATOR_END(Appended)\n\n"))

    def append_definition(self):
        definition = self.definitions(self.operator())[-1]
        self.edit("operators.inc", (definition.end(), definition.end(),
                                    f"  DEPUTY_DEFINITION({definition[1]}, 99, kExtended, {definition[4]})\n"))

    def append_attribute(self):
        operator = self.operator()
        place = operator[0].rindex("DEPUTY_OPERATOR_END") + operator.start()
        newest = self.definitions(operator)[-1][2]
        self.edit("operators.inc", (place, place,
                                    f"  DEPUTY_ATTRIBUTE({operator[1]}, Int, appended, {newest}, kStillThere, 0)\n"))

    def append_definition_that_ends_an_attribute(self):
        attribute = self.attribute(lambda attribute: attribute[5] == operators.STILL_THERE)
        last = [item for item in DEFINITION.finditer(self.listed()) if item[1] == attribute[1]][-1]
        if last.start() > attribute.start():
            raise Unlucky
        self.edit("operators.inc", (*attribute.span(5), "99"),
                  (last.end(), last.end(), f"  DEPUTY_DEFINITION({last[1]}, 99, kChanged, {last[4]})\n"))


HARMFUL = ("delete_schema_field", "swap_schema_fields", "insert_schema_field", "retype_schema_field",
           "rename_schema_field", "change_a_default", "change_attributes_of_a_schema_field",
           "append_required_schema_field", "change_schema_value", "change_type_of_a_schema_enum", "change_the_root",
           "use_an_unknown_declaration", "delete_operator", "change_domain", "change_counts", "delete_definition",
           "insert_older_definition", "change_definition", "change_counts_of_definitions", "delete_attribute",
           "change_attribute", "end_attribute_with_a_known_definition", "change_operands",
           "change_types_of_a_variable", "change_a_rule", "put_an_operator_under_a_condition")
LEGAL = ("append_schema_field", "append_schema_value", "append_schema_table", "reword_a_comment_of_the_schema",
         "rewrap_the_schema", "append_operator", "append_definition", "append_attribute",
         "append_definition_that_ends_an_attribute")
