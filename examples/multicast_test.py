# SPDX-License-Identifier: Apache-2.0
"""Eight processes share a multicast buffer: cleanly, and with one step in turn left out or out of order.

Usage: multicast_test.py BUILD_FOLDER. Runs examples/multicast on the emulator, under the shim.
"""

import pathlib
import sys
import unittest

import under_shim

ENVIRONMENT = {"CUVMM_EXAMPLE_MULTICAST": "1", "CUVMM_MULTICAST_TIMEOUT_MS": "300", "CUVMM_DEVICES": "8",
               "CUVMM_NO_SYMBOLS": "1"}

# The step that is left out, and exactly the rules that the findings must name.
STEPS = {
    "none": set(),
    "round-size": {"cuMulticastCreate-size-granularity"},
    "shareable": {"multicast-bind-shareable"},
    "add": {"multicast-all-added", "multicast-bind-member"},
    "bind": {"multicast-write-bound"},
    "barrier": {"multicast-all-added"},
    "access": {"data-writable"},
    "unbind": {"multicast-unbind-before-release"},
    "release": {"cuMulticastCreate-released", "cuMemImportFromShareableHandle-released"},
    "unbind-first": {"multicast-unbind-before-release", "cuMulticastUnbind-bound"},
    "close": {"cuMemExportToShareableHandle-fd-closed"},
}


class StepsTest(unittest.TestCase):
    def test_each_step_left_out_is_found(self):
        build = under_shim.Build(pathlib.Path(BUILD))
        program = str(build.program("multicast"))
        for step, rules in STEPS.items():
            with self.subTest(step):
                run = build.run([program, "--leave-out", step], emulate=True, environment=ENVIRONMENT)
                self.assertIsNotNone(run.report, run.output)
                self.assertEqual({finding["rule"] for finding in run.findings}, rules, run.output)
                self.assertEqual(run.code, 1 if step == "round-size" else 0, run.output)

    def test_it_does_not_run_unasked(self):
        build = under_shim.Build(pathlib.Path(BUILD))
        run = build.run([str(build.program("multicast"))], emulate=True, environment={"CUVMM_EXAMPLE_MULTICAST": ""})
        self.assertEqual(run.code, 77, run.output)
        self.assertFalse([name for name in run.calls if name.startswith("cuMulticast")])


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
