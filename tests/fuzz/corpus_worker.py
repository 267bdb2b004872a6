"""Messages between host and worker process as words, and conversations of a worker: what the mutator begins with."""

import re
import struct
from pathlib import Path

ISOLATION = Path(__file__).resolve().parents[2] / "host" / "isolation"
VERSION = int(re.search(r"kWireVersion = (\d+)", (ISOLATION / "wire.hpp").read_text()).group(1))
STREAM = 0xFFFFFFFF  # of worker_messages.cpp: a stream of frames
CALLBACK, NOTICE, RETURN = 3, 5, 2


def numbers_of_functions():
    """{"kDescribe": 1}, by message_types.hpp"""
    listed = re.search(r"enum class Function.*?{(.*?)};", (ISOLATION / "message_types.hpp").read_text(), re.S).group(1)
    numbers, last = {}, 0
    for name, number in re.findall(r"^\s*(k\w+)(?: = (\d+))?,?", listed, re.M):
        last = numbers[name] = int(number) if number else last + 1
    return numbers


FUNCTIONS = numbers_of_functions()


def string(value):
    data = value.encode()
    size = len(data) // 8 * 8 + 8  # with a NUL behind its end, in whole words
    return [len(data), 1, *struct.unpack(f"<{size // 8}Q", data.ljust(size, b"\0"))]


ABSENT = 0  # of an array; else LISTED, its count and its items
LISTED = 1


def message(number, *words):
    return struct.pack(f"<I{len(words)}Q", number, *words)


def frame(kind, function, *words):
    """Of the function of this name; of that of the host's last call for 0."""
    function = FUNCTIONS[function] if function else 0
    return struct.pack(f"<4I2Q{len(words)}Q", 0x46505044, kind, function, 0, len(words), 0, *words)


def says(record):
    """A record of a script that is sent at once; `answers` waits for a frame of the host before."""
    return struct.pack("<I", len(record)) + record


def answers(record):
    return struct.pack("<I", len(record) | 0x80000000) + record


OK = [0, 0, 0xFFFFFFFF, 0, 0]  # an outcome without a failure
NO_TABLE = [0, 0, 0, 0]


def greeting(init=1):
    return [VERSION, 0, 0, 0, 2, 2, 0, *string("com.example.npu"), *string("Example"), *string("1"), init, init, 0]


def rows(*items):
    return [len(items), len(items), *(word for item in items for word in [1, *item])]


def option():
    texts = [*string("threads"), *string("Threads."), 0, 0, *string("2")]
    return [4096, 2, *texts, ABSENT, 0, 64, 0, 0, 0]


def capability():
    return [4096, 1, 13, 0, 0, 1, *string(""), *string("Relu"), *string(""), LISTED, 1, 1]


TABLES = ("async", "blob", "capabilities", "concurrency", "device_control", "devices", "estimate", "memory",
          "operators", "options", "profiling", "propose", "resize", "scheduling")  # fmt: skip


def delegate(tables=()):
    """Tables: names of extensions that it has, whole."""
    forms = [word for name in TABLES for word in ([1, 512, 0, 0xFFFF] if name in tables else NO_TABLE)]
    capabilities = rows(capability()) if "capabilities" in tables else [0, 0]
    options = rows(option()) if "options" in tables else [0, 0]
    return [0, *string("npu"), *string("An NPU."), LISTED, 1, *string(""), 17, 1, 1, 1, 1, *forms, 0, *capabilities, 0, 0,
            *options]


def plugin(*tables):
    return [*OK, 1, 1, *delegate(tables)]


def reply(*words, function=0):
    return answers(frame(RETURN, function, *words))


def in_slot(*words):
    """The answer of a run whose call was in the slot."""
    record = frame(RETURN, 0, *words)
    return struct.pack("<I", len(record) | 0xC0000000) + record


def submits():
    """Says that the run of the next call is submitted."""
    return struct.pack("<I", 0xA0000000)


def asks(function, *words):
    """A question, which is sent when a frame of the host has arrived: the call, or the answer to the last question."""
    return answers(frame(CALLBACK, function, *words))


def conversation(*tables, in_open=b"", in_compile=b"", in_run=b""):
    """Every call of tests/support/every_call.hpp, in its order."""
    has, done = set(tables), reply(*OK)
    device = asks("kAddDevice", 4096, 3, *string("0"), *string("NPU"), *string("npu"), 1 << 30, 10**9) + done
    script = says(frame(NOTICE, "kHello", *greeting())) + done + reply(*plugin(*tables))
    script += (done + (device if "devices" in has else b"")) * 2  # for the description, and again
    script += done if "blob" in has else b""  # check
    script += asks("kSetOutputType", 0, 1, LISTED, 1, 4) + done + done if "operators" in has else b""
    script += reply(*OK, 7) + (in_open or done)
    if "propose" in has:
        script += asks("kAddClaim", 4096, LISTED, 1, 0, ABSENT, ABSENT, 5) + done
        script += asks("kAddGroup", 4096, LISTED, 2, 0x100000000) + done
    if "estimate" in has:
        script += answers(frame(NOTICE, "kEstimateAnswer", 4096, 1, *string(""), 1, 1, 1, ABSENT)) + says(frame(RETURN, 0, *OK))
    script += reply(*OK, 1, LISTED, 2, 0x31) + done if "options" in has else b""
    script += reply(*OK, 0) if "concurrency" in has else b""
    script += reply(*OK, 4096, 2, 4, 1, *string("bus")) if "scheduling" in has else b""
    script += reply(*OK, 4096, 1, 1, 0, 0, 0, 0, *string("NPU")) if "device_control" in has else b""
    script += reply(*OK, 5, 5) if "profiling" in has else b""  # correlate
    script += reply(*OK, 1, LISTED, 2, 0x31) if "blob" in has else b""  # compatibility
    script += reply(*OK, 41) + reply(*OK, 42) + done * 4 if "memory" in has else b""  # import after allocate; copies
    script += in_compile + reply(*OK, 8)
    script += asks("kWriteBlob", LISTED, 4, 0x626F6C62) + done if "blob" in has else b""  # serialize
    script += asks("kAddDebugIds", 1, LISTED, 1, 0) + done if "profiling" in has else b""
    script += reply(*OK, 9) + reply(*OK, 0)  # context, scratch size
    script += reply(*OK, 4096, 1, 0, 0, 64, 16) if "memory" in has else b""  # wish
    script += reply(*OK, 0) if "profiling" in has else b""
    script += in_run + reply(*OK, 0) + in_slot(*OK, 0)
    script += reply(*OK, 1, 0) if "scheduling" in has else b""  # choice
    script += submits() + says(frame(RETURN, "kExecute", *OK, 0)) if "async" in has else b""
    script += reply(*OK, 1, 4096, 1, 0, 1, 2, *string("conv"), *string("")) if "profiling" in has else b""  # collect
    script += reply(*OK, 0) if "resize" in has else b""
    script += done * 2  # the ends of context and executable
    script += reply(*OK, 10) + done if "blob" in has else b""  # restore
    script += done if "propose" in has else b""  # claim_release
    return script + done * 2


def messages():
    log = (0, 3, 2, 1, 0x6968)
    stream = frame(NOTICE, "kLog", *log) + frame(RETURN, "kDescribe", *OK)
    return {
        "hello": message(0, *greeting()),
        "log": message(1, *log),
        "number": message(5, 7),
        "ids": message(8, LISTED, 2, 0x100000000),
        "plugin": message(18, *plugin("options", "capabilities")),
        "stream": struct.pack("<I", STREAM) + stream,
        "cut_stream": struct.pack("<I", STREAM) + stream[:-9],
    }


def conversations():
    of_graph = b"".join([
        asks("kGraphOrder", 0), asks("kNodeInfo", 0), asks("kValueInfo", 0), asks("kGraphInputs", 0), asks("kGraphOutputs", 0),
        asks("kNodeAttribute", 0, *string("axis")), asks("kCluster", LISTED, 2, 0x100000001), asks("kQuantizedGroups", 0),
        asks("kNamedData", *string("none")),
    ])  # fmt: skip
    of_constants = asks("kConstantBytes", 3) + asks("kConstantRead", 3, 0, 4) + asks("kConstantFile", 3) + asks("kConstantRelease", 3)
    progress = asks("kGraphOrder", 0) + says(frame(NOTICE, "kProgress", 500, *string("half"))) + says(frame(NOTICE, "kLog", 0, 1, *string("line")))
    support = answers(frame(NOTICE, "kSupportAnswer", 0, 0, *string(""))) + says(frame(RETURN, 0, *OK))
    allocates = asks("kAllocateOutput", 0, 1, LISTED, 0)
    return {
        "refuses": says(frame(NOTICE, "kHello", 2, *string("cannot be loaded"), *greeting()[3:])),
        "plain": conversation(),
        "options": conversation("options", "capabilities"),
        "devices": conversation("devices", "device_control", "concurrency"),
        "asks": conversation(in_open=support, in_compile=of_graph, in_run=allocates),
        "constants": conversation(in_compile=of_constants),
        "progress": conversation("blob", in_compile=progress),
        "silent": says(frame(NOTICE, "kHello", *greeting())) + reply(*OK),
        "queues": conversation("async", "scheduling"),
        "memory": conversation("memory"),
        "all": conversation(*TABLES, in_open=support),
    }  # fmt: skip
