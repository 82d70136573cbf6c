# SPDX-License-Identifier: Apache-2.0
"""No program here, in bench/ or in examples/ makes a multicast call (api/multicast.h) without the user's permission."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dev-tools/scaffold"))
from multicast import Gate, without_abi  # noqa: E402  (after its folder is known)

GATE = Gate((ROOT / "api/entry_points.def").read_text())
SOURCES = (".cc", ".h", ".c", ".py", "")
ASKED_FOR = re.compile(r"\bneed_multicast\(|CUVMM_EXAMPLE_MULTICAST")


def gated(text: str) -> set[str]:
    """The functions named in a source that can make or use a multicast team."""
    text = re.sub(r"//[^\n]*|#[^\n]*", "", text)
    return {name for name in re.findall(r"\bcu[A-Z]\w*", text) if GATE.holds(name)}


class GateTest(unittest.TestCase):
    def sources(self, *folders: str):
        for folder in folders:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.is_file() and path.suffix in SOURCES and path != pathlib.Path(__file__).resolve():
                    yield path, path.read_text()

    def test_the_table_has_marks(self):
        self.assertGreaterEqual(len(GATE.marks), 21)
        self.assertEqual(without_abi("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD")
        self.assertEqual(without_abi("cuMemcpy3D"), "cuMemcpy3D")
        self.assertEqual(gated("cuMulticastBindMem_v2(a); // cuMulticastUnbind\n"), {"cuMulticastBindMem_v2"})
        self.assertEqual(gated('ask("cuMulticastOfTomorrow"); cuFabricCpyBatchAsync(); cuMemMap();'),
                         {"cuMulticastOfTomorrow", "cuFabricCpyBatchAsync"})

    def test_what_runs_on_real_drivers_names_none(self):
        read = 0
        for path, text in self.sources("real-driver-tests", "bench"):
            self.assertEqual(gated(text), set(), path)
            read += 1
        self.assertGreater(read, 30)

    def test_examples_with_it_want_to_be_asked(self):
        found = 0
        for path, text in self.sources("examples"):
            if path.suffix == ".cc" and gated(text):
                self.assertRegex(text, ASKED_FOR, path)
                found += 1
        self.assertGreaterEqual(found, 4)


if __name__ == "__main__":
    unittest.main()
