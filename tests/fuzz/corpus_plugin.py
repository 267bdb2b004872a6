"""Plugin files without code, as the linker lays them out, and the descriptors of their notes."""

import struct

ABI = 2  # 0.2; any other is refused at that check, and the fuzzer changes it
TEXT = "id=com.example.npu\nversion=1.2\ndelegates=npu,dsp\ncpu=sse2,avx2\nenv=A=b\nfiles=x.bin\ndevices=/dev/accel/accel*\n"
ENTRY = b"deputy_plugin_query_v1"
PAGE = 0x1000


def descriptor(text=TEXT, magic=0x59505544):
    data = text.encode()
    return struct.pack("<5I", magic, 20, ABI, ABI, len(data)) + data + b"\0" * (-len(data) % 4)


def note(owner, kind, data):
    name = owner + b"\0"
    return struct.pack("<3I", len(name), len(data), kind) + name + b"\0" * (-len(name) % 4) + data + b"\0" * (-len(data) % 4)


def hash_gnu(name):
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def hash_sysv(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ ((value & 0xF0000000) >> 24)) & 0x0FFFFFFF
    return value


def library(gnu=True, text=TEXT, machine=62, stack_flags=6):
    """One loaded segment with everything in it, so that addresses are offsets."""
    strings = b"\0" + ENTRY + b"\0libc.so.6\0x.so\0"
    at_needed, at_name = strings.index(b"libc"), strings.index(b"x.so")
    headers = 64 + 5 * 56
    parts, offsets = [], {}

    def place(name, data):
        start = headers + sum(map(len, parts))
        offsets[name] = (start, len(data))
        parts.append(data + b"\0" * (-len(data) % 8))

    place("note", note(b"Deputy", 1, descriptor(text)) + note(b"GNU", 3, bytes(range(20))))
    place("strings", strings)
    place("symbols", bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x60, 16))
    if gnu:
        place("hash", struct.pack("<4IQII", 1, 1, 1, 6, 0xFFFFFFFFFFFFFFFF, 1, hash_gnu(ENTRY) | 1))
    else:
        place("hash", struct.pack("<2I", 1, 2) + struct.pack("<3I", 1, 0, 0))
    entries = [(1, at_needed), (14, at_name), (5, offsets["strings"][0]), (10, len(strings)), (6, offsets["symbols"][0]),
               (11, 24), (0x6FFFFEF5 if gnu else 4, offsets["hash"][0]), (0x6FFFFFFB, 1), (0, 0)]
    place("dynamic", b"".join(struct.pack("<2Q", tag, value) for tag, value in entries))
    size = headers + sum(map(len, parts))

    def segment(kind, flags, offset, length, alignment):
        return struct.pack("<2I6Q", kind, flags, offset, offset, offset, length, length, alignment)

    table = segment(1, 5, 0, size, PAGE) + segment(2, 6, *offsets["dynamic"], 8) + segment(4, 4, *offsets["note"], 4)
    table += segment(0x6474E551, stack_flags, 0, 0, 16) + segment(0x6474E550, 4, 0, 64, 4)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<2HI3QI6H", 3, machine, 1, 0, 64, 0, 0, 64, 56, 5, 0, 0, 0)
    return head + table + b"".join(parts)


def files():
    return {
        "gnu.so": library(),
        "sysv.so": library(gnu=False),
        "aarch64.so": library(machine=183),
        "executable_stack.so": library(stack_flags=7),
        "sanitizer.so": library(text="id=a\ndelegates=a\nsanitizer=address\n"),
        "manifest": descriptor(),
        "small_manifest": descriptor("id=a\ndelegates=b\n"),
    }
