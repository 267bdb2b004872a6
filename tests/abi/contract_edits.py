"""Edits of the headers' promises beside the layout: macros, contracts in comments, optional slots, flags."""

import re

import contracts
import flags
import headers
from editor import Editor, Unlucky


class ContractEditor(Editor):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.contracts = contracts.read(self.abi)

    def contract(self, fits=lambda contract: True):
        """A contract with its comment in one place."""
        return self.choose(item for item in self.contracts.values() if item.comments and fits(item))

    def slot(self, optional):
        return self.contract(lambda item: item.table and item.optional == optional and len(item.comments) == 1)

    def comment(self, contract, place=-1):
        begin, end = contract.comments[place]
        return begin, end, self.abi.texts[contract.header][begin:end]

    def sign(self, skew=False):
        """Signed lines for all contracts that read otherwise now; with `skew` for a hash that is not theirs."""
        for name, now in contracts.read(headers.read(self.root)).items():
            old, new = self.table.contracts.get(name), contracts.hash_of(now.text)
            if old not in (None, new):
                new = contracts.hash_of(now.text + " and more") if skew else new
                self.signed += f"{name} {old} {new} signed by the test of edits\n"

    def macro(self, fits=lambda macro: True):
        return self.choose(item for items in self.abi.macros.values() for item in items if fits(item))

    def lines(self, macro):
        """Where the directive of a macro begins and ends."""
        text = self.abi.texts[macro.header]
        return text.rindex("#", 0, macro.start), macro.end

    def flag_set(self):
        """The enumerators of a set of flags, and its values."""
        items = flags.groups(self.abi)[self.choose(self.table.flags)]
        return items, [self.table.enumerators[item.name][0] for item in items]

    # Harmful: macros.

    def change_macro(self):
        macro = self.macro(lambda macro: re.search(r"= \w|= \S+ \w", macro.text))
        text = self.text(macro.header, macro)
        code = headers.COMMENT.sub(lambda match: " " * len(match[0]), text)
        place = self.choose(re.finditer(r"\w+|>=|&&|[-+*/]", code))
        new = {">=": ">", "&&": "||", "-": "+", "+": "-", "*": "/", "/": "*"}.get(place[0], place[0] + "x")
        self.what = f"{macro.name}: {place[0]} becomes {new}"
        start = macro.start + place.start()
        self.replace(macro.header, (start, start + len(place[0]), new))

    def delete_macro(self):
        macro = self.macro()
        self.what = macro.name
        self.replace(macro.header, (*self.lines(macro), ""))

    def swap_parameters_of_a_macro(self):
        macro = self.macro(lambda macro: "," in macro.text.partition("=")[0])
        names = re.match(r"\((\w+),\s*(\w+)", self.text(macro.header, macro))
        self.what = macro.name
        self.replace(macro.header, (macro.start, macro.start + names.end(), f"({names[2]}, {names[1]}"))

    def put_a_macro_under_a_condition(self):
        macro = self.macro()
        self.what = macro.name
        begin, end = self.lines(macro)
        self.replace(macro.header, (begin, begin, "#if defined(__STDC__)\n"), (end, end, "\n#endif"))

    def define_a_macro_otherwise(self):
        """Where the condition does not hold everything looks the same."""
        macro = self.macro()
        self.what = macro.name
        begin = self.lines(macro)[0]
        parameters = macro.text.partition("=")[0].strip()
        self.replace(macro.header, (begin, begin, f"#if defined(NDEBUG)\n#define {macro.name}{parameters} 0\n#endif\n"))

    # Harmful: contracts.

    def reword(self):
        contract = self.contract()
        begin, _, text = self.comment(contract)
        place = self.choose(re.finditer(r"[A-Za-z]{3,}", text))
        # Tags stay as they are; a set of flags keeps its name.
        if text[place.start() - 1] == "[" or text[place.end():place.end() + 1] in ("-", "]", "_") or \
                text[place.start() - 1] in "_-":
            raise Unlucky
        self.what = f"{contract.name}: {place[0]} becomes never"
        self.replace(contract.header, (begin + place.start(), begin + place.end(), "never"))

    def reword_a_contract(self):
        self.reword()

    def reword_a_contract_and_sign_another_hash(self):
        self.reword()
        self.sign(skew=True)

    def sign_a_change_that_is_not_there(self):
        self.reword_a_comment_of_no_contract()
        name = self.choose(self.contracts)
        self.what = name
        self.signed = f"{name} {self.table.contracts[name]} 0123456789abcdef signed by the test of edits\n"

    def delete_a_contract(self):
        contract = self.contract()
        self.what = contract.name
        begin, end, _ = self.comment(contract)
        self.replace(contract.header, (begin, end, ""))

    def add_a_contract(self):
        struct = self.struct(lambda struct: any(not self.contracts[f"{struct.name}.{field.name}"].text
                                                for field in struct.fields))
        field = self.choose(field for field in struct.fields if not self.contracts[f"{struct.name}.{field.name}"].text)
        self.what = f"{struct.name}.{field.name}"
        self.replace(struct.header, (field.start, field.start, "/* never NULL */ "))

    def change_a_tag(self):
        contract = self.contract(lambda item: item.function)
        begin, _, text = self.comment(contract)
        tag = re.search(r"\[([a-z]+-[a-z-]+)\]", text)
        new = "load-time" if tag[1] != "load-time" else "any-thread"
        self.what = f"{contract.name}: {tag[1]} becomes {new}"
        self.replace(contract.header, (begin + tag.start(1), begin + tag.end(1), new))

    def part_functions_in_a_row(self):
        found = [(struct, field) for struct in self.abi.structs.values() for before, field in
                 zip(struct.fields, struct.fields[1:]) if field.parameters is not None and
                 self.contracts[f"{struct.name}.{before.name}"].comments ==
                 self.contracts[f"{struct.name}.{field.name}"].comments]
        struct, field = self.choose(found)
        self.what = f"{struct.name}.{field.name}"
        self.replace(struct.header, (field.start, field.start, "/* As it was. [any-thread] */\n  "))

    # Harmful: optional slots.

    def without_optional(self):
        contract = self.slot(optional=True)
        self.what = contract.name
        begin, end, text = self.comment(contract)
        self.replace(contract.header, (begin, end, re.sub(r"\s*\*?\s*\[optional\]", "", text)))

    def with_optional(self, contract):
        self.what = contract.name
        _, end, _ = self.comment(contract)
        self.replace(contract.header, (end - 2, end - 2, f"{contracts.OPTIONAL} "))

    def make_an_optional_slot_mandatory(self):
        self.without_optional()

    def make_an_optional_slot_mandatory_and_sign(self):
        self.without_optional()
        self.sign()

    def make_a_slot_optional(self):
        self.with_optional(self.slot(optional=False))

    def make_a_function_type_optional_and_sign(self):
        self.with_optional(self.contract(lambda item: item.function and not item.table))
        self.sign()

    # Harmful: flags.

    def append_flag_of_two_bits(self):
        items, values = self.flag_set()
        self.what = items[0].name
        self.replace(items[-1].header, (items[-1].end, items[-1].end, f", DEPUTY_APPENDED = {max(values) * 4 + 1}u"))

    def append_flag_twice(self):
        items, values = self.flag_set()
        self.what = items[0].name
        self.replace(items[-1].header,
                     (items[-1].end, items[-1].end, f", DEPUTY_APPENDED = {self.random.choice(values)}u"))

    def append_flag_as_a_number(self):
        items, values = self.flag_set()
        self.what = items[0].name
        self.replace(items[-1].header, (items[-1].end, items[-1].end, f", DEPUTY_APPENDED = {max(values) * 2}"))

    def turn_flags_into_numbers(self):
        """The values stay; the next one would not be a power of two."""
        items, values = self.flag_set()
        self.what = items[0].name
        self.replace(items[0].header, *((item.start, item.end, f"{item.name} = {value}")
                                        for item, value in zip(items, values)))

    def append_field(self, comment):
        struct = self.struct(lambda struct: struct.grows)
        self.what = struct.name
        self.replace(struct.header,
                     (struct.end, struct.end, f"uint32_t more_flags;{comment}\n  uint32_t reserved_appended;\n"))

    def append_flags_without_a_name(self):
        self.append_field("")

    def append_flags_that_name_an_enumeration(self):
        self.append_field(f" /* DEPUTY_{self.random.choice(('LAYOUT_...', 'LAYOUT_...; none is defined'))} */")

    def append_flags_that_name_nothing(self):
        self.append_field(" /* DEPUTY_APPENDED_... */")

    # Legal.

    def append_macro(self):
        header = self.choose(self.abi.texts)
        self.what = header
        place = self.abi.texts[header].rindex("#endif")
        new = self.random.choice(("#define DEPUTY_APPENDED(a, b) ((a) + (b))\n", "#if defined(__clang__)\n"
                                  "#define DEPUTY_APPENDED 1\n#else\n#define DEPUTY_APPENDED 0\n#endif\n"))
        self.replace(header, (place, place, new))

    def rewrap_a_macro(self):
        macro = self.macro(lambda macro: macro.text.startswith("("))
        text = self.text(macro.header, macro)
        place = self.choose(re.finditer(r"(?<=\)) (?=\S)|(?<=, )(?=\w)", text))
        self.what = macro.name
        self.replace(macro.header, (macro.start + place.start(), macro.start + place.end(), " \\\n    "))

    def append_flag(self):
        items, values = self.flag_set()
        self.what = items[0].name
        most = max(values)
        new = self.random.choice((f"{most * 2}u", f"1u << {most.bit_length()}", f"0x{most * 4:x}u"))
        self.replace(items[-1].header, (items[-1].end, items[-1].end, f", DEPUTY_APPENDED = {new}"))

    def append_flags(self):
        self.append_field(" /* DEPUTY_APPENDED_... */")
        place = self.abi.texts["base.h"].rindex("#endif")
        self.replace("base.h", (place, place, "enum { DEPUTY_APPENDED_ONE = 1u, DEPUTY_APPENDED_TWO = 2u };\n"))

    def append_flags_for_later(self):
        self.append_field(self.random.choice((" /* 0 */", " /* DEPUTY_APPENDED_...; none is defined */")))

    def append_optional_slot(self):
        struct = self.struct(lambda struct: struct.grows)
        self.what = struct.name
        self.replace(struct.header, (struct.end, struct.end, "/* New. [any-thread] [optional] */\n"
                                     "  uint32_t (*appended)(void *self);\n"))

    def rewrap_a_contract(self):
        contract = self.contract(lambda item: True)
        begin, end, text = self.comment(contract)
        words = text[2:-2].split()
        words = [word for word in words if word != "*"]
        self.what = contract.name
        self.replace(contract.header, (begin, end, "/*\n   * " + "\n   *   ".join(
            " ".join(words[place:place + 5]) for place in range(0, len(words), 5)) + "\n   */"))

    def reword_a_comment_of_no_contract(self):
        """Of a file, a macro, an enumeration."""
        taken = {(item.header, span) for item in self.contracts.values() for span in item.comments}
        header, begin, end = self.choose(
            (header, *match.span()) for header, text in self.abi.texts.items()
            for match in headers.COMMENT.finditer(text) if (header, match.span()) not in taken)
        self.what = f"{header}: {self.abi.texts[header][begin:end][:30]}..."
        self.replace(header, (begin, end, "/* Said in other words; struct {. */"))

    def reword_a_contract_and_sign(self):
        self.reword()
        self.sign()

    def make_a_slot_optional_and_sign(self):
        self.with_optional(self.slot(optional=False))
        self.sign()


HARMFUL = ("change_macro", "delete_macro", "swap_parameters_of_a_macro", "put_a_macro_under_a_condition",
           "define_a_macro_otherwise", "reword_a_contract", "reword_a_contract_and_sign_another_hash",
           "sign_a_change_that_is_not_there", "delete_a_contract", "add_a_contract", "change_a_tag",
           "part_functions_in_a_row", "make_an_optional_slot_mandatory", "make_an_optional_slot_mandatory_and_sign",
           "make_a_slot_optional", "make_a_function_type_optional_and_sign", "append_flag_of_two_bits",
           "append_flag_twice", "append_flag_as_a_number", "turn_flags_into_numbers", "append_flags_without_a_name",
           "append_flags_that_name_an_enumeration", "append_flags_that_name_nothing")
LEGAL = ("append_macro", "rewrap_a_macro", "append_flag", "append_flags", "append_flags_for_later",
         "append_optional_slot", "rewrap_a_contract", "reword_a_comment_of_no_contract", "reword_a_contract_and_sign",
         "make_a_slot_optional_and_sign")
