# SPDX-License-Identifier: Apache-2.0
"""The findings of Python programs show the Python functions, in each CPython that this machine has.

Takes the shim and a driver. Interpreters: the one that runs this test, and pyenv's of 3.9 to 3.14.
Without symbols the Python functions must be there as well."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SHIM, DRIVER = sys.argv[1:3]
PROGRAM = pathlib.Path(__file__).with_name("frames.py")
LINES = {match[1]: number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
         if (match := re.search(r"  # ([\w.]+)$", line))}


def version_of(python: str) -> tuple[int, ...]:
    run = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2], sys.implementation.name)"],
                         capture_output=True, text=True, check=False)
    words = run.stdout.split()
    return tuple(map(int, words[:2])) if words[2:] == ["cpython"] else (0, 0)


def interpreters() -> dict[tuple[int, ...], str]:
    roots = [pathlib.Path(os.environ.get("PYENV_ROOT", "")), pathlib.Path.home() / ".pyenv"]
    found = [str(path) for root in roots for path in sorted(root.glob("versions/3.*/bin/python3"))]
    by_version = {version_of(python): python for python in [*found, sys.executable, "/usr/bin/python3"]
                  if os.access(python, os.X_OK)}
    return {version: python for version, python in sorted(by_version.items()) if (3, 9) <= version <= (3, 14)}


PYTHONS = interpreters()


class Frames(unittest.TestCase):
    def findings(self, python: str, *cases: str, **settings: str) -> tuple[list[dict], str]:
        with tempfile.TemporaryDirectory(prefix="cuvmm-frames-") as folder:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "PYTHON", "PYENV_"))}
            # Symbols take time, so most tests run without them.
            env |= {"LD_PRELOAD": SHIM, "CUVMM_DRIVER": DRIVER, "CUVMM_REPORT_DIR": folder, "CUVMM_NO_SYMBOLS": "1"}
            env |= settings
            run = subprocess.run([python, str(PROGRAM), *cases], env=env, capture_output=True, text=True,
                                 errors="surrogateescape", timeout=120, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            reports = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
        self.notes = [note for report in reports for note in report.get("notes", [])]
        return [finding for report in reports for finding in report["findings"]
                if finding["rule"] == "cuMemMap-offset-zero"], run.stderr

    @staticmethod
    def python_frames(finding: dict) -> list[tuple[str, str, int]]:
        return [(frame["function"].split(".")[-1], pathlib.Path(frame["file"]).name, frame["line"])
                for frame in finding["stack"] if frame.get("language") == "python"]

    def expect(self, finding: dict, *wanted: tuple[str, str], whole: bool = True) -> None:
        program = [(function, "frames.py", LINES[mark]) for function, mark in wanted]
        frames = self.python_frames(finding)
        self.assertEqual(frames if whole else frames[:len(program)], program)

    def each(self, work, some: bool = False) -> None:
        """Runs `work` in all interpreters, or in the oldest and the newest."""
        self.assertTrue(PYTHONS, "a CPython of 3.9 to 3.14")
        for version, python in PYTHONS.items():
            if some and version not in (min(PYTHONS), max(PYTHONS)):
                continue
            with self.subTest(version=version):
                work(python)
                self.assertEqual(self.notes, [])

    def test_functions_and_lines(self) -> None:
        def work(python: str) -> None:
            findings, text = self.findings(python, "called", CUVMM_NO_SYMBOLS="0")
            # ctypes only forwards calls, so each line of Python is a place of its own. The
            # innermost line is equal for both calls.
            self.assertEqual(len(findings), 1)
            self.expect(findings[0], ("misuse", "misuse"), ("called", "called"), ("<module>", "main"))
            self.assertEqual(findings[0]["count"], 2)
            self.assertIn(f"misuse at {PROGRAM}:{LINES['misuse']} (Python)", text)
            self.assertNotIn("frames of the Python interpreter", text)
        self.each(work)

    def test_a_method_called_by_a_constructor(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "Cache")
            self.expect(findings[0], ("misuse", "misuse"), ("grow", "grow"), ("__init__", "init"), ("<module>", "main"))
        self.each(work)

    def test_a_generator(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "generator")
            self.expect(findings[0], ("misuse", "misuse"), ("produce", "produce"), ("generator", "generator"),
                        ("<module>", "main"))
        self.each(work)

    def test_a_thread(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "thread")
            self.expect(findings[0], ("misuse", "misuse"), whole=False)
            self.assertEqual({file for _, file, _ in self.python_frames(findings[0])[1:]}, {"threading.py"})
        self.each(work, some=True)

    def test_a_deep_recursion_is_cut(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "recursion")
            self.expect(findings[0], ("misuse", "misuse"), ("recursion", "recursion.end"),
                        *[("recursion", "recursion")] * 30)
        self.each(work)

    def test_frames_of_c_between_those_of_python(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "callback", CUVMM_NO_SYMBOLS="0")
            self.expect(findings[0], ("misuse", "misuse"), ("compare", "compare"), ("callback", "callback"),
                        ("<module>", "main"))
            names = [frame["function"] for frame in findings[0]["stack"]]
            sort = next(i for i, name in enumerate(names) if name.startswith(("qsort", "__GI_qsort", "msort")))
            self.assertLess(names.index("compare"), sort)
            self.assertLess(sort, names.index("callback"))
        self.each(work)

    def test_a_child_of_fork(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "fork")
            self.expect(findings[0], ("misuse", "misuse"), ("fork", "fork"), ("<module>", "main"))
        self.each(work, some=True)

    def test_a_signal_handler(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "handler")
            self.expect(findings[0], ("misuse", "misuse"), ("handle", "handle"), ("handler", "handler"),
                        ("<module>", "main"))
        self.each(work, some=True)

    def test_code_objects_at_addresses_of_others(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "reuse")
            self.assertEqual([self.python_frames(finding)[0] for finding in findings],
                             [("<module>", f"<made {i:02}>", 1) for i in range(20)])
        self.each(work)

    def test_hostile_names(self) -> None:
        def work(python: str) -> None:
            findings, text = self.findings(python, "hostile")
            self.assertIn(("f", "?[31mred??<é漢😀>.py", 2), self.python_frames(findings[0]))
            self.assertNotIn("\x1b", text)
        self.each(work, some=True)

    def test_without_symbols(self) -> None:
        def work(python: str) -> None:
            findings, _ = self.findings(python, "called", CUVMM_NO_SYMBOLS="1")
            self.expect(findings[0], ("misuse", "misuse"), ("called", "called"), ("<module>", "main"))
        self.each(work, some=True)

    def test_off(self) -> None:
        def work(python: str) -> None:
            findings, text = self.findings(python, "called", CUVMM_NO_PYTHON_FRAMES="1")
            self.assertEqual(self.python_frames(findings[0]), [])
            self.assertIn("frames of the Python interpreter", text)
        self.each(work, some=True)

    def test_suppressed_by_function_and_by_file(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
            for pattern, left in (("called", 0), ("*/frames.py", 0), ("frames.py", 0), ("elsewhere", 1)):
                file.seek(0)
                file.truncate()
                file.write(f"function:{pattern}\n")
                file.flush()
                findings, _ = self.findings(sys.executable, "called", CUVMM_SUPPRESSIONS=file.name)
                self.assertEqual(len(findings), left, pattern)


if __name__ == "__main__":
    print("interpreters:", *PYTHONS.values())
    unittest.main(argv=sys.argv[:1])
