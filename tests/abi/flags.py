"""Which enumerations of the ABI are sets of flags, found in two ways that have to agree.

By their values: each enumerator of a set, and of no other enumeration, is written with the suffix u (`1u`, `1u << 3`).

By their use: a field or parameter named `flags`, or that ends in `_flags`, names the enumerators in its comment, or in
that of its function, as `DEPUTY_OPEN_...`; a field that says `0`, or `DEPUTY_RUN_...; none is defined`, has none yet.
So does every field of a plain unsigned type (the values of an enumeration have a type of their own), unless the
comment says `1u << DEPUTY_LAYOUT_...`: bits by number. An enumeration so named has to be a set, and a field of flags
that names none is wrong, so no set is missed.
"""

import re

import contracts

WRITTEN = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uU](\s*<<\s*\d+)?")
NONE = re.compile(r"\bDEPUTY_[A-Z0-9_]*_\.\.\.; none is defined\b")
NAMED = re.compile(r"(<<\s*)?\b(DEPUTY_[A-Z0-9_]*_)\.\.\.")
FLAGS = re.compile(r"(?:\w+_)?flags")
UNSIGNED = ("uint8_t", "uint16_t", "uint32_t", "uint64_t")


def groups(abi):
    """{first enumerator: all of its enum}"""
    found = {}
    for item in abi.enumerators.values():
        found.setdefault(item.group, []).append(item)
    return found


def sets(abi):
    """The groups that are sets of flags by their values."""
    return [group for group, items in groups(abi).items() if any(WRITTEN.fullmatch(item.value) for item in items)]


def uses(abi, known):
    """(place, comment, whether it has to name a set) of each field and parameter that can hold flags."""
    for struct in abi.structs.values():
        for field in struct.fields:
            where = f"{struct.name}.{field.name}"
            if field.parameters is None:
                if FLAGS.fullmatch(field.name) or field.type in UNSIGNED:
                    yield where, known[where].text, bool(FLAGS.fullmatch(field.name))
            else:
                yield from ((f"{where}({parameter.name})", known[where].text, True) for parameter in field.parameters
                            if FLAGS.fullmatch(parameter.name))
    for item in abi.typedefs.values():
        yield from ((f"{item.name}({parameter.name})", known[item.name].text, True)
                    for parameter in item.parameters or () if FLAGS.fullmatch(parameter.name))


def check(abi, values):
    """The faults of the sets of flags; `values` is {enumerator: (value, group)}."""
    wrong = []
    present, every = sets(abi), groups(abi)
    for group in present:
        taken = {}
        for item in every[group]:
            value = values[item.name][0]
            if not WRITTEN.fullmatch(item.value):
                wrong.append(f"{item.name}: {group}... are flags, written with the suffix u, not '{item.value}'")
            elif value < 0 or value & (value - 1):
                wrong.append(f"{item.name}: {group}... are flags, and {value} is not a power of two")
            elif taken.setdefault(value, item.name) != item.name:
                wrong.append(f"{item.name} is the flag {taken[value]}")
    for where, comment, flags in uses(abi, contracts.read(abi)):
        prefixes = [prefix for by_number, prefix in NAMED.findall(comment) if not by_number]
        if flags and not prefixes and not re.fullmatch(r"0\b.*", comment):
            wrong.append(f"{where}: the comment does not name its flags (DEPUTY_NAME_...), nor says that it is 0")
        for prefix in prefixes:
            named = [group for group in every if group.startswith(prefix)]
            if NONE.search(comment):
                wrong += [f"{where}: says that none of {prefix}... is defined, and {group} is" for group in named]
            elif not named:
                wrong.append(f"{where}: there are no enumerators {prefix}...")
            elif not set(named) & set(present):
                wrong.append(f"{where}: {prefix}... hold flags, and are not written as such (1u, 2u, 4u)")
    return wrong
