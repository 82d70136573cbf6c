#SPDX - License - Identifier : Apache - 2.0
"""`cuvmm run --trace FILE.jsonl`: calls as lines of JSON.

Usage: json_trace_test.py CUVMM [unittest arguments]. Needs the shim and the emulator in place.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CUVMM = None
PROGRAM = """init()
r0 = cuMemAddressReserve(4M)
h0 = cuMemCreate(2M, device=0)
cuMemMap(r0, 2M, h0)
cuMemMap(r0, 2M, h0)
cuMemUnmap(r0, 2M)
cuMemRelease(h0)
cuMemAddressFree(r0, 4M)
"""


class TraceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-trace-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.program = self.path("program.txt")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_(self, *words):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
        return subprocess.run([CUVMM, "run", "--emulate", *words], capture_output=True, text=True, timeout=100,
                              check=False, cwd=self.folder, env=clean)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            first, *rest = [json.loads(line) for line in file]
        return first, [one for one in rest if one["call"].startswith("cuMem")]

    def traced(self, *options):
        result = self.run_("--trace", "t.jsonl", *options, "--", CUVMM, "replay", self.program)
        self.assertIn("cuvmm: trace in " + self.path("t.jsonl"), result.stderr)
        return self.lines("t.jsonl")[1]

    def test_a_line_for_each_call(self):
        calls = self.traced()
        first, _ = self.lines("t.jsonl")
        self.assertEqual((first["schema"], first["clock"]), (1, "CLOCK_BOOTTIME"))
        self.assertGreater(first["unix_ns"], 1_700_000_000_000_000_000)
        names = [one["call"] for one in calls]
        self.assertEqual([one for one in names if one in PROGRAM],
                         ["cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemMap", "cuMemUnmap", "cuMemRelease",
                          "cuMemAddressFree"])
        reserve = calls[names.index("cuMemAddressReserve")]
        self.assertEqual(reserve["result"], "CUDA_SUCCESS")
        self.assertEqual(reserve["arguments"]["size"], "4M")
        self.assertTrue(reserve["text"].startswith("r0 = cuMemAddressReserve("))
        maps = [one for one in calls if one["call"] == "cuMemMap"]
        self.assertEqual(maps[0]["arguments"]["ptr"], reserve["made"])
        self.assertNotIn("made", maps[0])
        self.assertEqual(maps[0]["text"], "cuMemMap(r0, 2M, h0)")
        self.assertNotEqual(maps[1]["result"], "CUDA_SUCCESS")
        for one in calls:
            self.assertGreaterEqual(one["ns"], first["ns"])
            self.assertGreaterEqual(one["duration_ns"], 0)
            self.assertGreater(one["thread"], 0)
        numbers = [one["number"] for one in calls if one["number"]]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_the_schema_holds(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("needs python3-jsonschema")
        schema = pathlib.Path(__file__).resolve().parents[2] / "docs" / "view" / "trace.schema.json"
        judge = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
        self.traced()
        with open(self.path("t.jsonl"), encoding="utf-8") as file:
            for line in file:
                judge.validate(json.loads(line))

    def test_filters(self):
        self.assertEqual({one["call"] for one in self.traced("--trace-calls", "cuMem*map", "--trace-calls", "cuMemMap")},
                         {"cuMemMap", "cuMemUnmap"})
        refused = self.traced("--trace-errors")
        self.assertEqual([one["call"] for one in refused], ["cuMemMap"])
# Names count the objects of the whole run.
        self.assertEqual(refused[0]["text"], "cuMemMap(r0, 2M, h0)")

    def test_a_file_for_each_process(self):
        shell = f"{CUVMM} replay {self.program}; {CUVMM} replay {self.program}"
        result = self.run_("--trace", "t.jsonl", "--", "sh", "-c", shell)
        files = glob.glob(self.path("t.*.jsonl"))
        self.assertEqual(len(files), 2, result.stderr)
        for file in files:
            first, calls = self.lines(os.path.basename(file))
            self.assertEqual(os.path.basename(file), f"t.{first['pid']}.jsonl")
            self.assertTrue(calls)

    def test_program_text_has_all_calls(self):
        for option in (["--trace-errors"], ["--trace-calls", "cuMemMap"]):
            result = self.run_("--trace", "t.txt", *option, "--", "true")
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"{option[0]} needs --trace FILE.jsonl", result.stderr)


if __name__ == "__main__":
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
