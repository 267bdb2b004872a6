"""Runs a program on a terminal of a given width, and measures what it shows."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import unicodedata

END = b"\0"  # no program writes it to a terminal
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

    def mark_end():
        process.wait()
        os.write(theirs, END)

    # The side of the program stays open until all is read: Linux reports EIO to a reader that was about to wait when
    # the last lines were written and that side was closed, and the lines are lost.
    ending = threading.Thread(target=mark_end)
    ending.start()
    shown = b""
    while not shown.endswith(END):
        shown += os.read(ours, 65536)
    ending.join()
    os.close(theirs)
    os.close(ours)
    errors = b"" if both else process.stderr.read()
    if not both:
        process.stderr.close()
    shown = shown[: -len(END)]
    return process.returncode, shown.decode().replace("\r\n", "\n"), errors.decode()


def width(line):
    """Columns of a line on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in COLOURS.sub("", line))  # fmt: skip
