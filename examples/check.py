# SPDX-License-Identifier: Apache-2.0
"""Runs one example under the shim on the emulator and compares its findings with its comment.

Exit code 0 when they are equal and the program saw what an H200 answers, 1 when not, 77 when the
example cannot run here.
"""

import argparse
import pathlib
import sys

import expectation
import under_shim


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path, help="the example's first source file")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree")
    parser.add_argument("--folder", default="examples", help="where in the tree's bin the program is")
    options = parser.parse_args()
    wanted = expectation.read(options.source)
    stem = options.source.parent.name if options.source.stem == "main" else options.source.stem
    build = under_shim.Build(options.build)
    program = build.program(stem, options.folder)
    run = build.run([str(program)], emulate=True, enforce=wanted.enforce,
                    environment={"CUVMM_EXAMPLE_MULTICAST": "1", "CUVMM_EXAMPLE_MANAGED": "1",
                                 "CUVMM_MULTICAST_TIMEOUT_MS": "200", "CUVMM_STREAMS": "late" if wanted.late else "eager"})
    print(run.output)
    if run.code == 77:
        return 77
    faults = wanted.difference(run.findings)
    if run.code != 0:
        faults.append(f"the program did not see what an H200 answers: {run.end()}")
    if run.report is None:
        faults.append("there is no report")
    elif not run.calls:
        faults.append("no call was intercepted")
    print("\n".join(faults) or "the findings are as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
