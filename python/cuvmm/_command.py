# SPDX-License-Identifier: Apache-2.0
"""The command `cuvmm` of a wheel: replaces this process by the program beside this module."""

import os
import sys
from typing import NoReturn

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "cuvmm")


def main() -> NoReturn:
    """Runs the program with this process's arguments. Does not return."""
    try:
        os.execv(PROGRAM, ["cuvmm", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cuvmm: {PROGRAM}: {error.strerror}; expected the program of the wheel for x86-64 Linux with "
                 "glibc 2.28 or newer: install cuvmm again")


if __name__ == "__main__":
    main()
