"""Waiting in tests: for states of the system that no event announces."""

import time


def eventually(condition, seconds=60):
    """Looks until the condition holds. False: it did not within the limit."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.001)
    return True
