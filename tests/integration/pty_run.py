"""Runs a program on a terminal of a given width, and measures what it shows."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def run_on_terminal(arguments, columns, both=False, environment=None):
    """Returns the exit status, what the terminal got, and what went to stderr in a pipe; with `both` the terminal gets
    stderr too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    variables = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **(environment or {})}
    for name in ("COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"):
        if name not in (environment or {}):
            variables.pop(name, None)
    process = subprocess.Popen([str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs if both else subprocess.PIPE, env=variables)  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    errors = b"" if both else process.stderr.read()
    if not both:
        process.stderr.close()
    status = process.wait(timeout=300)
    return status, shown.decode().replace("\r\n", "\n"), errors.decode()


def width(line):
    """Columns of a line on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in COLOURS.sub("", line))  # fmt: skip
