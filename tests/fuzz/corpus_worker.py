"""Messages between host and worker process as words, and conversations of a worker: what the mutator begins with."""

import struct

TYPES = 47  # of the list in worker_messages.cpp; the next number is a stream of frames
CALLBACK, NOTICE, RETURN = 3, 5, 2
DESCRIBE, ENUMERATE, COMPILE, EXECUTE = 1, 20, 8, 13
NODE_INFO, VALUE_INFO, ADD_DEVICE, SUPPORT, LOG, HELLO = 65, 66, 79, 128, 131, 160


def string(value):
    data = value.encode()
    return [len(data), 1, *struct.unpack(f"<{(len(data) + 7) // 8}Q", data + b"\0" * (-len(data) % 8))]


def message(number, *words):
    return struct.pack(f"<I{len(words)}Q", number, *words)


def frame(kind, function, *words):
    return struct.pack(f"<4IQ{len(words)}Q", 0x46505044, kind, function, 0, len(words), *words)


def says(record):
    """A record of a script that is sent at once; `answers` waits for a frame of the host before."""
    return struct.pack("<I", len(record)) + record


def answers(record):
    return struct.pack("<I", len(record) | 0x80000000) + record


OK = [0, 0, 0xFFFFFFFF, 0, 0]  # an outcome without a failure
NO_TABLE = [0, 0, 0, 0]


def greeting(init=1):
    return [1, 0, 0, 0, 2, 2, 0, *string("com.example.npu"), *string("Example"), *string("1"), init, init, 0]


def rows(*items):
    return [len(items), len(items), *(word for item in items for word in [1, *item])]


def option():
    texts = [*string("threads"), *string("Threads."), 0, 0, *string("2")]
    return [4096, 2, *texts, 0, 0, 0, 64, 0, 0, 0]


def capability():
    return [4096, 1, 13, 0, 0, 1, *string(""), *string("Relu"), *string(""), 1, 1, 1]


def delegate(tables=()):
    """Tables: names of extensions that it has, whole."""
    order = ("blob", "capabilities", "concurrency", "device_control", "devices", "estimate", "operators", "options",
             "profiling", "propose", "resize")
    forms = [word for name in order for word in ([1, 512, 0, 0xFFFF] if name in tables else NO_TABLE)]
    capabilities = rows(capability()) if "capabilities" in tables else [0, 0]
    options = rows(option()) if "options" in tables else [0, 0]
    return [0, *string("npu"), *string("An NPU."), 1, 1, *string(""), 17, 1, 1, 1, 1, *forms, *capabilities, 0, 0, *options]


def plugin(*tables):
    return [*OK, 1, 1, *delegate(tables)]


def reply(*words, function=0):
    return answers(frame(RETURN, function, *words))


def conversation(*tables, in_open=b"", in_compile=b"", in_run=b""):
    start = says(frame(NOTICE, HELLO, *greeting())) + reply(*OK) + reply(*plugin(*tables))
    asked = reply(*OK)  # probe
    if "devices" in tables:
        asked += answers(frame(CALLBACK, ADD_DEVICE, 4096, 3, *string("0"), *string("NPU"), *string("npu"), 1 << 30, 10**9))
        asked += reply(*OK)
    opened = reply(*OK, 7) + (in_open or reply(*OK))
    compiled = in_compile + reply(*OK, 8) + reply(*OK, 9)
    ran = in_run + reply(*OK, 0) + reply(*OK) * 4
    return start + asked + opened + compiled + ran


def messages():
    log = (0, 3, 2, 1, 0x6968)
    stream = frame(NOTICE, LOG, *log) + frame(RETURN, DESCRIBE, *OK)
    return {
        "hello": message(0, *greeting()),
        "log": message(1, *log),
        "number": message(5, 7),
        "ids": message(8, 2, 1, 0x100000000),
        "plugin": message(18, *plugin("options", "capabilities")),
        "stream": struct.pack("<I", TYPES) + stream,
        "cut_stream": struct.pack("<I", TYPES) + stream[:-9],
    }


def conversations():
    asks = answers(frame(CALLBACK, NODE_INFO, 0)) + answers(frame(CALLBACK, VALUE_INFO, 0))
    support = answers(frame(NOTICE, SUPPORT, 0, 0, 0, 0)) + says(frame(RETURN, 0, *OK))
    return {
        "refuses": says(frame(NOTICE, HELLO, 1, *string("cannot be loaded"), *greeting()[3:])),
        "plain": conversation(),
        "options": conversation("options", "capabilities"),
        "devices": conversation("devices", "device_control", "concurrency"),
        "asks": conversation(in_open=support, in_compile=asks),
        "silent": says(frame(NOTICE, HELLO, *greeting())) + reply(*OK),
        "all": conversation("blob", "capabilities", "devices", "estimate", "options", "profiling", "propose", "resize"),
    }
