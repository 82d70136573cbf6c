# SPDX-License-Identifier: Apache-2.0
"""The version has one place, and the bill of materials leaves nothing out.

Usage: release_test.py CUVMM [unittest arguments]. What needs dev-tools/package/release-requirements.txt is skipped without it.
"""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sbom  # noqa: E402

CUVMM = os.path.abspath(sys.argv[1])
# The files that may have the number: its own place, and the list of changes.
PLACES = {"CMakeLists.txt", "CHANGELOG.md"}


def read(name):
    with open(os.path.join(sbom.SOURCE, name), encoding="utf-8", errors="replace") as file:
        return file.read()


class Version(unittest.TestCase):
    def test_it_stands_in_one_place(self):
        number = re.compile(rf"(?<![\d.]){re.escape(sbom.own_version())}(?![\d.])")
        names = [os.path.relpath(os.path.join(where, name), sbom.SOURCE)
                 for folder in ("cmake", "python", "tools", "dev-tools", "include", "examples")
                 for where, _, files in os.walk(os.path.join(sbom.SOURCE, folder)) for name in files]
        names += ["pyproject.toml", "dev", "CMakePresets.json", "CMakeLists.txt"]
        found = {name for name in names if name.endswith((".cmake", ".in", ".py", ".toml", ".h", ".cc", ".json", "dev", ".txt", ".yml"))
                 and not name.endswith(("requirements.txt", "_test.py", "_test.cc")) and re.search(number, read(name))}
        self.assertEqual(found - PLACES, set(), "the version stands there as well; take it from project() in CMakeLists.txt")
        self.assertIn("CMakeLists.txt", found)

    def test_the_command_says_it(self):
        printed = subprocess.run([CUVMM, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn(sbom.own_version(), printed)

    def test_the_changelog_begins_with_it(self):
        self.assertEqual(re.search(r"^## ([\d.]+)", read("CHANGELOG.md"), re.M)[1], sbom.own_version())


class BillOfMaterials(unittest.TestCase):
    def test_no_library_is_unknown(self):
        self.assertEqual(sbom.strangers(), set(), "say in dev-tools/package/sbom.py what these are, and under which licence")

    def test_what_is_included_is_listed(self):
        inside, needed = sbom.parts()
        self.assertLessEqual({"CLI11", "nlohmann-json", "fmt", "toml++", "libbacktrace", "lz4", "zstd"}, {name for name, _, _ in inside})
        self.assertIn("glibc", {name for name, _, _ in needed})

    @unittest.skipUnless(importlib.util.find_spec("cyclonedx"), "this Python has no cyclonedx; `./dev test` installs it")
    def test_it_is_valid_and_always_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = []
            for name in ("one.json", "two.json"):
                sbom.main(os.path.join(folder, name), "1700000000")
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    texts.append(file.read())
        self.assertEqual(*texts)
        value = json.loads(texts[0])
        self.assertEqual((value["metadata"]["component"]["version"], value["metadata"]["timestamp"]), (sbom.own_version(), "2023-11-14T22:13:20+00:00"))
        names = {part["name"] for part in value["components"]}
        self.assertEqual(names, {name for part in sbom.parts() for name, _, _ in part})
        depends = next(entry for entry in value["dependencies"] if entry["ref"] == "cuvmm")
        self.assertEqual(set(depends["dependsOn"]), names)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
