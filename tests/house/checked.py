"""The command line of a check that also tests itself, and the report of what it finds."""

import argparse


def run(description, check, self_test):
    """`check` gives a summary and what is wrong. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    summary, wrong = check()
    for message in wrong:
        print(message)
    print(f"{summary}: {len(wrong)} problems")
    return 1 if wrong else 0
