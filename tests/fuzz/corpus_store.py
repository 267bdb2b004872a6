"""Entries of the store of every kind, as host/docs/store.md defines their files."""

import hashlib
import struct

BLOB, VERDICT, PLACEMENT, COSTS, MODEL, PROBE, QUARANTINE = range(7)


def entry(kind, text, content):
    text = text.encode()
    head = b"DPTYSTOR" + struct.pack("<2I2Q", 1, kind, len(text), len(content)) + hashlib.blake2b(
        bytes([kind]), digest_size=32).digest()  # fmt: skip
    rest = text + b"\0" * (-(96 + len(text)) % 64) + content
    checksum = hashlib.blake2b(head + bytes(32) + rest, digest_size=32).digest()
    return head + checksum + rest


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def many(items):
    return struct.pack("<I", len(items)) + b"".join(items)


def frame(payload):
    checksum = 2166136261
    for byte in payload:
        checksum = (checksum ^ byte) * 16777619 & 0xFFFFFFFF
    return struct.pack("<2IQ2I", 0x42505044, 2, 0, len(payload), checksum) + payload


def description():
    option = text("threads") + struct.pack("<I", 2) + text("Threads.") + text("") + text("2") + many([text("1"), text("2")])
    option += struct.pack("<2qB2d", 0, 64, 1, 0.0, 1.0)
    row = text("") + text("Conv") + text("2D") + struct.pack("<5I", 1, 13, 3, 4, 1) + many([struct.pack("<i", 1)])
    device = text("0") + text("NPU") + text("npu") + struct.pack("<I2Q", 3, 1 << 30, 10**9)
    delegate = text("npu") + text("An NPU.") + struct.pack("<IB", 0, 1) + text("") + many([option]) + many(
        [text("deputy.blob/1")]) + many([row]) + b"\1" + many([device])  # fmt: skip
    return b"\1" + text("com.example.npu") + text("Example") + text("1.0") + struct.pack("<I", 2) + many([delegate])


def decision():
    nodes = struct.pack("<3I", 2, 1, 5)
    return text("without 2 nodes") + struct.pack("<2I", 1, 0) + text("1.43 ms, 0.98 ms without") + nodes


COST_LINES = ("deputy costs 1\n"
              "cpu\tConv\tfloat32\tmultiply-adds\t4\t2\t40\t100\n"
              "npu0\t(transfer)\tuint8\tbytes\t3\t1\t12\t5.5\n")  # fmt: skip
RECORD = {"file": "/opt/npu.so", "plugin": "com.example.npu", "reason": "probe-crashed", "text": "was ended by SIGSEGV",
          "since": "1700000000", "content": "ab" * 32}


def files():
    record = "".join(f"{key}={value}\n" for key, value in RECORD.items()).encode()
    return {
        "blob": entry(BLOB, "format 1", bytes(range(100))),
        "verdict_right": entry(VERDICT, "right", b""),
        "verdict_wrong": entry(VERDICT, "node 'a' is wrong", struct.pack("<2I", 0, 3)),
        "placement": entry(PLACEMENT, "without 2 nodes", decision()),
        "costs": entry(COSTS, "npu0", COST_LINES.encode()),
        "model": entry(MODEL, "m.onnx", bytes(32)),
        "probe": entry(PROBE, "cd" * 32, frame(description())),
        "probe_refusal": entry(PROBE, "cd" * 32, frame(b"\0" + struct.pack("<I", 5) + text("is damaged"))),
        "quarantine": entry(QUARANTINE, "npu.so: was ended by SIGSEGV", record),
    }


def placement_files():
    """As host/docs/placement.md defines them."""
    head = f"version: 1\nmodel: {'07' + '00' * 31}\nplacements:\n"
    moved = "    slower:\n      - {delegate: \"npu0\", nodes: '0-2,7', why: \"it's 3 ms, 1 ms without\"}\n"
    first = f"  - shapes: ['[1,3]', '[]']\n    summary: \"the CPU alone\"\n{moved}"
    second = "  - shapes: ['[2,3]', '[]']\n    summary: \"the order is the fastest\"\n    slower: []\n"
    return {"two.yaml": (head + first + second).encode(), "one.yaml": (head + first).encode(),
            "other.yaml": (head.replace("07", "08") + first).encode()}
