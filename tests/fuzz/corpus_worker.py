"""Messages between host and worker process: the number of a type, and words. The mutator makes the rest."""

import struct

TYPES = 47  # of the list in worker_messages.cpp; the next number is a stream of frames


def message(number, *words):
    return struct.pack(f"<I{len(words)}Q", number, *words)


def frame(kind, function, *words):
    return struct.pack(f"<4IQ{len(words)}Q", 0x46505044, kind, function, 0, len(words), *words)


def files():
    log = (0, 3, 2, 1, 0x6968)
    stream = frame(5, 131, *log) + frame(2, 1, 0, 0, 0, 0, 0)
    return {
        "hello": message(0, 1, 0, 0, 0, 2, 2, 0, 3, 1, 0x75706E, 0, 0, 0, 0, 1, 0, 1),
        "log": message(1, *log),
        "number": message(5, 7),
        "ids": message(8, 2, 1, 0x100000000),
        "plugin": message(18, 0, 0, 0, 0, 0, 0, 0),
        "stream": struct.pack("<I", TYPES) + stream,
        "cut_stream": struct.pack("<I", TYPES) + stream[:-9],
    }
