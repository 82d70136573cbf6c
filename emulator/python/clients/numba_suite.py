# SPDX-License-Identifier: Apache-2.0
"""Runs numba-cuda's own tests of its driver layer and compares the result with
numba_known_failures.txt.

For a process that check.py starts. Exit code 1 when a test fails that the list lacks, 77 where
numba-cuda or a module that its tests import is missing. A listed test that passes is reported, and
does not change the exit code.
"""

import fnmatch
import importlib
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "numba.cuda.tests.cudadrv"
# The test allocates managed memory as large as half a GPU's, which most hosts lack.
LEFT_OUT = {"test_managed_alloc"}


def known_failures() -> list[tuple[str, str]]:
    lines = (HERE / "numba_known_failures.txt").read_text().splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def tests() -> unittest.TestSuite:
    folder = pathlib.Path(importlib.import_module(PACKAGE).__file__).parent
    names = sorted(path.stem for path in folder.glob("test_*.py") if path.stem not in LEFT_OUT)
    return unittest.defaultTestLoader.loadTestsFromNames([f"{PACKAGE}.{name}" for name in names])


def main() -> int:
    try:
        import numba.cuda  # noqa: F401

        suite = tests()
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}")
        return 77
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    # A failed subtest counts for its test.
    failed = {getattr(test, "test_case", test).id().removeprefix(PACKAGE + ".")
              for test, _ in result.failures + result.errors}
    known = known_failures()
    unknown = sorted(test for test in failed if not any(fnmatch.fnmatchcase(test, pattern) for pattern, _ in known))
    for pattern, reason in known:
        if not fnmatch.filter(failed, pattern):
            print(f"passes or is gone, and is known to fail ({reason}): {pattern}")
    for test in unknown:
        print(f"fails, and is not known to: {test}")
    print(f"{result.testsRun - len(failed) - len(result.skipped)} passed, {len(failed)} failed, {len(result.skipped)} skipped, "
          f"{len(unknown)} of the failures unknown")
    return 1 if unknown or result.testsRun == len(result.skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
