"""Edits of structs, functions, enumerations and constants in the headers, in every way that a careless change could,
and by appending. What lies in ext/draft may be edited in any way that keeps the rules."""

import re

import headers
from editor import Editor, Unlucky


class LayoutEditor(Editor):
    # Harmful.

    def delete_field(self):
        struct = self.struct()
        field = self.random.choice(struct.fields)
        self.what = f"{struct.name}.{field.name}"
        self.replace(struct.header, (field.start, field.end, ""))

    def swap_fields_of_one_size(self):
        struct = self.struct(lambda struct: len(struct.fields) > 1)
        first = self.random.choice(struct.fields)
        others = [field for field in struct.fields
                  if field != first and self.size_of(struct, field) == self.size_of(struct, first)]
        if not others:
            raise Unlucky
        second = self.random.choice(others)
        self.what = f"{struct.name}: {first.name} and {second.name}"
        self.replace(struct.header, (first.start, first.end, self.text(struct.header, second)),
                     (second.start, second.end, self.text(struct.header, first)))

    def insert_field(self):
        struct = self.struct()
        field = self.random.choice(struct.fields)
        new = self.random.choice(("uint64_t inserted;", "uint32_t inserted, more;", "uint32_t one; uint32_t two;",
                                  "const void *inserted;", "void (*inserted)(void *self);"))
        self.what = f"{struct.name}: '{new}' before {field.name}"
        self.replace(struct.header, (field.start, field.start, new + " "))

    def insert_into_a_hole_left_by_narrowing(self):
        """The offsets behind it stay what they were."""
        struct = self.struct(lambda struct: any(field.type == "uint64_t" and field.parameters is None
                                                for field in struct.fields))
        field = self.random.choice([field for field in struct.fields
                                    if field.type == "uint64_t" and field.parameters is None])
        self.what = f"{struct.name}.{field.name} halved"
        self.replace(struct.header, (field.start, field.end, f"uint32_t {field.name}; uint32_t inserted;"))

    def retype_field(self):
        struct = self.struct(lambda struct: any(field.parameters is None for field in struct.fields))
        field = self.random.choice([field for field in struct.fields if field.parameters is None])
        same = {"uint32_t": "int32_t", "int32_t": "uint32_t", "uint64_t": "int64_t", "int64_t": "uint64_t",
                "float": "uint32_t", "double": "uint64_t", "void *": "uint64_t", "const void *": "void *"}
        new = same.get(field.type, "uint16_t")
        if self.random.random() < 0.5:
            new = self.random.choice(["uint8_t", "uint64_t", "void *", "size_t", "unsigned", "deputy_tensor", "float"])
        if new == field.type:
            raise Unlucky
        self.what = f"{struct.name}.{field.name}: {field.type} becomes {new}"
        self.replace(struct.header, (field.start, field.end, f"{new} {field.name};"))

    def rename_field(self):
        struct = self.struct()
        field = self.random.choice(struct.fields)
        self.what = f"{struct.name}.{field.name}"
        self.replace(struct.header, (field.start, field.end, re.sub(rf"\b{field.name}\b", f"{field.name}_renamed",
                                                                   self.text(struct.header, field), count=1)))

    def change_enumerator(self):
        item = self.random.choice(list(self.abi.enumerators.values()))
        value = self.table.enumerators[item.name][0] + self.random.choice((-1, 1, 64))
        self.what = f"{item.name} becomes {value}"
        self.replace(item.header, (item.start, item.end, f"{item.name} = {value}"))

    def delete_enumerator(self):
        item = self.choose(item for item in self.abi.enumerators.values() if item.name != item.group)
        self.what = item.name
        text = (self.root / item.header).read_text(encoding="utf-8")
        comma = re.search(r",\s*$", headers.COMMENT.sub(lambda match: " " * len(match[0]), text)[:item.start])
        self.replace(item.header, (comma.start(), comma.start() + 1, " "), (item.start, item.end, ""))

    def reuse_a_value(self):
        item = self.random.choice(list(self.abi.enumerators.values()))
        self.what = f"a new name for the value of {item.name}"
        self.replace(item.header, (item.end, item.end, f", DEPUTY_APPENDED = {self.table.enumerators[item.name][0]}"))

    def change_typedef(self):
        item = self.random.choice([item for item in self.abi.typedefs.values() if item.parameters is None])
        new = self.random.choice([name for name in ("int32_t", "uint32_t", "uint64_t", "uint8_t") if name != item.type])
        self.what = f"{item.name}: {item.type} becomes {new}"
        self.replace(item.header, (item.start, item.end, f"typedef {new} {item.name}"))

    def change_constant(self):
        item = self.random.choice(list(self.abi.constants.values()))
        new = '"deputy.other/1"' if item.value.startswith('"') else "7u"
        self.what = f"{item.name} becomes {new}"
        self.replace(item.header, (item.start, item.end, new))

    def delete_parameter(self):
        header, item, name = self.function(lambda item: len(item.parameters) > 1)
        index = self.random.randrange(1, len(item.parameters))
        gone = item.parameters[index]
        self.what = f"{name}({gone.name})"
        self.replace(header, (item.parameters[index - 1].end, gone.end, ""))

    def swap_parameters(self):
        header, item, name = self.function(lambda item: len(item.parameters) > 1)
        first, second = self.random.sample(item.parameters, 2)
        self.what = f"{name}: {first.name} and {second.name}"
        self.replace(header, (first.start, first.end, self.text(header, second)),
                     (second.start, second.end, self.text(header, first)))

    def add_parameter(self):
        header, item, name = self.function(lambda item: item.parameters)
        self.what = name
        last = item.parameters[-1]
        self.replace(header, (last.end, last.end, ", uint32_t added"))

    def retype_parameter(self):
        header, item, name = self.function(lambda item: item.parameters)
        parameter = self.random.choice(item.parameters)
        same = {"uint32_t": "int32_t", "uint64_t": "int64_t", "int64_t": "uint64_t", "const char *": "char *",
                "void *": "const void *"}
        new = same.get(parameter.type, "uint64_t")
        self.what = f"{name}({parameter.name}): {parameter.type} becomes {new}"
        self.replace(header, (parameter.start, parameter.end, f"{new} {parameter.name}"))

    def change_what_is_returned(self):
        header, item, name = self.function()
        old = self.text(header, item)
        behind = old.index("(*")
        before = "typedef " if old.startswith("typedef ") else ""
        new = "int32_t " if item.type != "int32_t" else "int64_t "
        self.what = f"{name}: {item.type} becomes {new}"
        self.replace(header, (item.start, item.end, before + new + old[behind:]))

    def grow_a_frozen_struct(self):
        struct = self.struct(lambda struct: not struct.grows)
        self.what = struct.name
        self.replace(struct.header, (struct.end, struct.end, "uint64_t appended;\n"))

    def append_half_a_word(self):
        """An old peer's struct_size already covers the padding in which the next field would lie."""
        struct = self.struct(lambda struct: struct.grows)
        self.what = struct.name
        self.replace(struct.header, (struct.end, struct.end, "uint32_t appended;\n"))

    def delete_struct(self):
        struct = self.struct()
        self.what = struct.name
        text = (self.root / struct.header).read_text(encoding="utf-8")
        typedef = text.rfind("typedef struct " + struct.name + " {", 0, struct.end)
        begin = typedef if typedef >= 0 else text.rfind("struct " + struct.name + " {", 0, struct.end)
        self.replace(struct.header, (begin, text.index(";", struct.end) + 1, ""))

    def put_a_field_under_a_condition(self):
        struct = self.struct()
        self.what = struct.name
        self.replace(struct.header, (struct.end, struct.end, "#if defined(NDEBUG)\nuint64_t appended;\n#endif\n"))

    def put_a_struct_under_a_condition(self):
        """Where the condition holds everything looks the same."""
        struct = self.struct()
        self.what = struct.name
        text = (self.root / struct.header).read_text(encoding="utf-8")
        begin = text.rfind("\n", 0, re.search(rf"struct {struct.name} {{", text).start()) + 1
        self.replace(struct.header, (begin, begin, "#if defined(__STDC__)\n"),
                     (text.index(";", struct.end) + 1, text.index(";", struct.end) + 1, "\n#endif"))

    # Appends.

    def append_field(self):
        struct = self.struct(lambda struct: struct.grows)
        new = self.random.choice(("uint64_t appended;", "uint32_t appended; uint32_t reserved_appended;",
                                  "const deputy_tensor *appended;" if "tensor.h" not in struct.header else
                                  "const void *appended;", "double appended;"))
        self.what = f"{struct.name}: {new}"
        self.replace(struct.header, (struct.end, struct.end, new + "\n"))

    def append_function(self):
        struct = self.struct(lambda struct: struct.grows and any(field.parameters for field in struct.fields))
        self.what = struct.name
        self.replace(struct.header,
                     (struct.end, struct.end, "deputy_status *(*appended)(void *self, uint32_t count);\n"))

    def append_enumerator(self):
        group = self.choose(item.group for item in self.abi.enumerators.values() if item.group not in self.table.flags)
        last = [item for item in self.abi.enumerators.values() if item.group == group][-1]
        free = max(value for value, of in self.table.enumerators.values() if of == group) + self.random.choice((1, 100))
        self.what = f"{group}...: {free}"
        self.replace(last.header, (last.end, last.end, f", DEPUTY_APPENDED = {free}"))

    def append_struct(self):
        """A new extension, in a header of its own."""
        self.what = "deputy.appended/1"
        (self.root / "ext" / "appended.h").write_text(
            '#ifndef DEPUTY_ABI_EXT_APPENDED_H\n#define DEPUTY_ABI_EXT_APPENDED_H\n#include "deputy/abi/delegate.h"\n'
            '#define DEPUTY_EXT_APPENDED "deputy.appended/1"\ntypedef uint32_t deputy_appended_kind;\n'
            "enum { DEPUTY_APPENDED_ONE = 1 };\ntypedef struct deputy_ext_appended {\n  uint32_t struct_size;\n"
            "  uint32_t reserved;\n"
            "  deputy_status *(*appended)(deputy_instance *instance, deputy_appended_kind kind);\n"
            "} deputy_ext_appended;\n#endif\n", encoding="utf-8")

    def append_constant(self):
        header = self.random.choice(self.abi.headers).removeprefix("deputy/abi/")
        self.what = header
        place = (self.root / header).read_text(encoding="utf-8").rindex("#endif")
        self.replace(header, (place, place, f"#define DEPUTY_APPENDED {self.random.randrange(100)}u\n"))

    def edit_a_draft(self):
        """Promised to nobody, so what would be harmful anywhere else is not."""
        drafts = [(struct, field) for struct in headers.read(self.root, drafts=True).structs.values()
                  if struct.header.startswith(headers.DRAFT) for field in struct.fields if field.parameters]
        struct, field = self.random.choice(drafts)
        last = field.parameters[-1]
        edit, change = self.random.choice((
            ("deleted", (field.start, field.end, "")),
            ("behind another", (field.start, field.start, "void (*inserted)(void *self); ")),
            ("with a parameter more", (last.end, last.end, ", uint32_t added")),
            ("with another parameter", (last.start, last.end, "uint64_t replaced"))))
        self.what = f"{struct.name}.{field.name} {edit}"
        self.replace(struct.header, change)

    def break_the_rules_in_a_draft(self):
        struct = self.random.choice([struct for struct in headers.read(self.root, drafts=True).structs.values()
                                     if struct.header.startswith(headers.DRAFT)])
        self.what = struct.name
        self.replace(struct.header, (struct.end, struct.end, "uint32_t appended;\n"))


HARMFUL = ("delete_field", "swap_fields_of_one_size", "insert_field", "insert_into_a_hole_left_by_narrowing",
           "retype_field", "rename_field", "change_enumerator", "delete_enumerator", "reuse_a_value", "change_typedef",
           "change_constant", "delete_parameter", "swap_parameters", "add_parameter", "retype_parameter",
           "change_what_is_returned", "grow_a_frozen_struct", "append_half_a_word", "delete_struct",
           "put_a_field_under_a_condition", "put_a_struct_under_a_condition", "break_the_rules_in_a_draft")
LEGAL = ("append_field", "append_function", "append_enumerator", "append_struct", "append_constant",
         "edit_a_draft")
