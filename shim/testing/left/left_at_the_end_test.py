# SPDX-License-Identifier: Apache-2.0
"""Objects that programs have not given back: counted in one line, listed on request, and leaks if
their owner is gone.

Usage: left_at_the_end_test.py BUILD.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
CUVMM = str(BUILD / "bin" / "cuvmm")
KINDS, RUNTIME = str(BUILD / "left" / "kinds"), str(BUILD / "left" / "runtime_kinds")

# For each kind, the words for three of its objects. One retain of the primary context is left with
# them, and is not reported.
COUNTED = {
    "malloc": "3 pieces of cuMemAlloc (3 MiB)",
    "managed": "3 pieces of managed memory (3 MiB)",
    "async": "3 pieces of pool memory (3 MiB)",
    "frompool": "3 pieces of pool memory (3 MiB), 1 pool",
    "host": "3 pieces of page-locked host memory (3 MiB)",
    "register": "3 registered ranges of host memory (3 MiB)",
    "unmapped": "3 registered ranges of unmapped host memory (3 MiB), all made in (anonymous namespace)::Program::make(",
    "array": "3 arrays",
    "stream": "3 streams",
    "event": "3 events",
    "context": "3 contexts, all made in (anonymous namespace)::Program::make_context",
    "graph": "3 graphs",
    "executable": "3 executable graphs",
    "module": "3 modules",
    "library": "3 libraries",
    "reserve": "3 empty reservations (6 MiB)",
    "pool-end": "3 pieces of pool memory (3 MiB), 1 pool",
    "graph-end": "3 pieces of graph memory (3 MiB)",
    "texture": "3 texture objects",
    "surface": "3 surface objects",
    "user": "3 user objects",
    "poolfd": "3 descriptors of an exported pool",
    "dmabuf": "3 descriptors of a dma-buf (6 MiB), 3 pieces of cuMemAlloc (6 MiB)",
}
LEAKS = {
    "lostpool": "cuMemPoolDestroy-memory-freed",
    "pool": "cuMemPoolCreate-destroyed",
    "vmm": "cuMemCreate-released",
    "dmabuf-freed": "cuMemGetHandleForAddressRange-fd-closed",
}


# The function that made the first of these objects, and the functions by which the program gives them back.
FIXES = {
    "malloc": ("cuMemAlloc", "cuMemFree"),
    "managed": ("cuMemAllocManaged", "cuMemFree"),
    "async": ("cuMemAllocAsync", "cuMemFreeAsync"),
    "frompool": ("cuMemAllocFromPoolAsync", "cuMemFreeAsync"),
    "host": ("cuMemAllocHost", "cuMemFreeHost"),
    "register": ("cuMemHostRegister", "cuMemHostUnregister"),
    "array": ("cuArrayCreate", "cuArrayDestroy"),
    "stream": ("cuStreamCreate", "cuStreamDestroy"),
    "event": ("cuEventCreate", "cuEventDestroy"),
    "graph": ("cuGraphCreate", "cuGraphDestroy"),
    "executable": (r"cuGraphInstantiate\w*", "cuGraphExecDestroy"),
    "module": ("cuModuleLoadData", "cuModuleUnload"),
    "library": ("cuLibraryLoadData", "cuLibraryUnload"),
    "reserve": ("cuMemAddressReserve", "cuMemAddressFree"),
    "texture": ("cuTexObjectCreate", "cuTexObjectDestroy"),
    "surface": ("cuSurfObjectCreate", "cuSurfObjectDestroy"),
    "user": ("cuUserObjectCreate", "cuUserObjectRelease"),
    "poolfd": ("cuMemPoolExportToShareableHandle", "close"),
}


class LeftAtTheEnd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-left-")
        self.addCleanup(folder.cleanup)
        self.report = os.path.join(folder.name, "report.json")
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}

    def run_it(self, *program, options=(), status=0, pieces=3):
        result = subprocess.run([CUVMM, "run", "--emulate", "--error-exitcode", "9", "--report", self.report, *options,
                                 "--", *program], env=self.clean | {"PIECES": str(pieces)}, text=True, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=100)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        with open(self.report, encoding="utf-8") as file:
            return json.load(file), result.stderr

    def sentence(self, errors):
        lines = [line for line in errors.splitlines() if "still in use at the end" in line or "freed only by" in line]
        self.assertLessEqual(len(lines), 1, errors)
        return lines[0] if lines else ""

    def test_who_gives_all_back_hears_nothing(self):
        for kind in (*COUNTED, *LEAKS, "retain", "device-end", "register-end", "user-moved"):
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind)
                self.assertEqual(self.sentence(errors), "")
                self.assertNotIn("in_use", report)
                self.assertEqual(report["summary"]["leak"], 0, errors)

    def test_what_is_kept_is_counted_in_one_line(self):
        for kind, text in COUNTED.items():
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind, "kept")
                self.assertEqual(report["summary"]["leak"], 0, errors)
                line = self.sentence(errors)
                self.assertIn(f"at the end: {text}", line)
                self.assertRegex(line, r"(\w|\)); --leak-check=full lists them$")
                self.assertEqual("made in" in line, kind in ("context", "unmapped"), line)

    def test_of_many_the_place_is_named(self):
        for kind, expected in {"malloc": "12 pieces of cuMemAlloc (12 MiB), all made in (anonymous namespace)::Program::make(",
                           "device-end": "end of its context: 12 pieces of cuMemAlloc (12 MiB), all made in (anonymous namespace)::Program::make(",
                           "event": "12 events, all made in (anonymous namespace)::Program::make("}.items():
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind, "kept", pieces=12)
                self.assertEqual(report["summary"]["leak"], 0, errors)
                line = self.sentence(errors)
                self.assertIn(expected, line)
                self.assertRegex(line, r" at \S*kinds.cc:\d+ \(kinds\+0x\w+\) without a cu(MemFree|EventDestroy); --leak")
                row = report["ended_with_context" if kind == "device-end" else "in_use"][0]
                self.assertEqual(row["made_there"], 12)
                _, errors = self.run_it(KINDS, kind, pieces=12)
                self.assertEqual(self.sentence(errors), "")

    def test_of_one_registered_range_that_is_unmapped_the_place_is_named(self):
        line = self.sentence(self.run_it(KINDS, "unmapped", "kept", pieces=1)[1])
        self.assertRegex(line, r"1 registered range of unmapped host memory \(1 MiB\), made in .*kinds.cc:\d+ .* without a "
                               "cuMemHostUnregister; --leak")

    def test_a_destructor_that_comes_after_the_end_of_a_context_and_of_the_driver(self):
        _, errors = self.run_it(KINDS, "reset", "kept", pieces=1)
        self.assertRegex(errors, r"cuvmm: cuMemFree in .*Late::~Late\(\) at .* came after the end of the driver.* "
                                 r"ended a context before, by call \d+ in .*Program::run")
        _, errors = self.run_it(KINDS, "reset", pieces=1)
        self.assertNotIn("after the end of the driver", errors)

    def test_each_retain_counts(self):
        self.assertIn("4 retains of a primary context", self.sentence(self.run_it(KINDS, "retain", "kept")[1]))

    def test_a_leak_where_the_owner_is_gone(self):
        for kind, rule in LEAKS.items():
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind, "kept", status=9)
                self.assertEqual([(f["rule"], f["count"]) for f in report["findings"]], [(rule, 3)])
                self.assertRegex(report["findings"][0]["stack"][0]["function"], "Program::make\\(|make_pool")
                self.assertEqual(self.sentence(errors), "")

    def test_what_only_a_context_ended_is_reported(self):
        report, errors = self.run_it(KINDS, "device-end", "kept")
        self.assertIn("freed only by the end of its context: 3 pieces of cuMemAlloc (3 MiB)", self.sentence(errors))
        self.assertEqual(report["ended_with_context"], [{"what": "piece of cuMemAlloc", "count": 3, "bytes": 3 << 20}])
        self.assertEqual(report["summary"]["leak"], 0)

    def test_on_request_each_place_is_listed(self):
        for kind in ("malloc", "event", "lostpool"):
            with self.subTest(kind):
                _, errors = self.run_it(KINDS, kind, "kept", options=("--leak-check=full",),
                                        status=9 if kind in LEAKS else 0)
                self.assertNotIn("lists them", errors)
                place = errors.split("still in use: 3 ")[-1] if kind in COUNTED else errors
                self.assertIn("Program::make(", place)
        report, errors = self.run_it(KINDS, "malloc", "kept", options=("--leak-check=no",))
        self.assertEqual(self.sentence(errors), "")
        self.assertNotIn("in_use", report)

    def test_on_request_each_kind_has_its_place_its_maker_and_a_fix(self):
        for kind, (maker, ender) in FIXES.items():
            for pieces, each in ((1, ""), (3, " for each of them")):
                with self.subTest(kind, pieces=pieces):
                    _, errors = self.run_it(KINDS, kind, "kept", options=("--leak-check=full",), pieces=pieces)
                    self.assertRegex(errors, rf"cuvmm: still in use: {pieces} [^\n]*made by (call \d+ \()?{maker}\b[^\n]*\n"
                                             rf"( +#[^\n]*\n)+ +fix: call {ender}{each} before the process ends\.\n")
                    self.assertEqual(errors.count("still in use: "), errors.count(" fix: "), errors)

    def test_the_fix_names_the_runtime_if_the_program_called_it(self):
        _, errors = self.run_it(RUNTIME, "kept", options=("--leak-check=full",))
        self.assertRegex(errors, r"made by call \d+ \(cudaMalloc\)\n( +#.*\n)+ +fix: call cudaFree before")
        self.assertRegex(errors, r"made by cudaStreamCreate\n( +#.*\n)+ +fix: call cudaStreamDestroy before")

    def test_full_counts_the_places_that_never_gave_anything_back(self):
        full = ("--leak-check=full",)
        for kind, expected in {"malloc": r"12 of 12 pieces of cuMemAlloc \(12 MiB\) that one place made have never ended: no cuMemFree came",
                           "async": r"12 of 12 pieces of pool memory \(12 MiB\) .*: no cuMemFreeAsync came",
                           "event": r"12 of 12 events that one place made have never ended: no cuEventDestroy came"}.items():
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind, "kept", options=full, status=9, pieces=12)
                finding, = report["findings"]
                self.assertEqual((finding["rule"], finding["kind"], finding["count"]), ("place-objects-freed", "leak", 12))
                self.assertRegex(finding["message"], expected)
                self.assertIn("Program::make(", finding["stack"][0]["function"])
                self.assertEqual(report["summary"]["leak"], 12)
                self.assertEqual(self.sentence(errors), "")
                for pieces, options in ((7, full), (12, ())):  # few objects, or nobody asks
                    report, errors = self.run_it(KINDS, kind, "kept", options=options, pieces=pieces)
                    self.assertEqual((report["findings"], report["in_use"][0]["count"]), ([], pieces))
                # A place that gave one of them back is a cache, and no leak.
                report, _ = self.run_it(KINDS, kind, "kept-but-one", options=full, pieces=12)
                self.assertEqual((report["findings"], report["in_use"][0]["count"]), ([], 11))

    def test_references_that_a_graph_took_are_not_the_programs(self):
        self.assertEqual(self.sentence(self.run_it(KINDS, "user-moved", "kept")[1]), "")

    def test_full_counts_memory_that_outlives_its_context(self):
        for kind, what in {"pool-end": r"pieces of pool memory \(3 MiB\)", "graph-end": r"pieces of graph memory \(3 MiB\)"}.items():
            with self.subTest(kind):
                report, errors = self.run_it(KINDS, kind, "kept", options=("--leak-check=full",), status=9)
                finding, = report["findings"]
                self.assertEqual((finding["rule"], finding["kind"], finding["count"]), ("context-memory-freed", "leak", 3))
                self.assertRegex(finding["message"], rf"^3 {what} were never freed by the program, and stay allocated: call "
                                 r"\d+ \(cuDevicePrimaryCtxRelease\) ended the device's primary context, at .*Program::run")
                self.assertEqual("1 pool" in self.sentence(errors), kind == "pool-end", errors)

    def test_full_counts_registered_ranges_whose_context_is_gone(self):
        report, _ = self.run_it(KINDS, "register-end", "kept", options=("--leak-check=full",), status=9)
        finding, = report["findings"]
        self.assertEqual((finding["rule"], finding["count"]), ("context-memory-freed", 3))
        self.assertEqual(finding["message"], "3 registered ranges of host memory (3 MiB) were not unregistered by the program "
                                             "before their context ended")
        report, errors = self.run_it(KINDS, "register-end", "kept")
        self.assertEqual((report["findings"], self.sentence(errors)), ([], ""))

    def test_full_counts_memory_whose_context_is_gone(self):
        report, errors = self.run_it(KINDS, "device-end", "kept", options=("--leak-check=full",), status=9)
        finding, = report["findings"]
        self.assertEqual((finding["rule"], finding["kind"], finding["count"]), ("context-memory-freed", "leak", 3))
        self.assertEqual(finding["message"], "3 pieces of cuMemAlloc (3 MiB) were never freed by the program, and ended with their context")
        self.assertIn("Program::make(", finding["stack"][0]["function"])
        self.assertIn("Program::run", str(finding["objects"][0]["ended_stack"]))
        self.assertEqual(self.sentence(errors), "")

    def test_full_takes_nothing_for_leaked_that_a_signal_cut_short(self):
        report, errors = self.run_it(KINDS, "malloc", "kept", str(signal.SIGTERM), options=("--leak-check=full",),
                                     status=-signal.SIGTERM, pieces=12)
        self.assertEqual(report["findings"], [], errors)

    def test_of_a_process_that_is_killed_memory_is_counted(self):
        _, errors = self.run_it(KINDS, "malloc", "kept", str(signal.SIGTERM), status=-signal.SIGTERM)
        self.assertIn("3 pieces of cuMemAlloc (3 MiB)", self.sentence(errors))
        report, errors = self.run_it(KINDS, "lostpool", "kept", str(signal.SIGTERM), status=9)
        self.assertEqual([(f["rule"], f["count"]) for f in report["findings"]], [(LEAKS["lostpool"], 3)], errors)

    def test_the_runtime_s_own_things_are_not_the_program_s(self):
        report, errors = self.run_it(RUNTIME)
        self.assertEqual(self.sentence(errors), "")
        self.assertEqual(report["findings"], [])
        report, errors = self.run_it(RUNTIME, "kept")
        line = self.sentence(errors)
        self.assertIn("at the end: 1 piece of cuMemAlloc (3 MiB), 1 stream; --leak-check", line)
        _, errors = self.run_it(RUNTIME, "kept", options=("--leak-check=full",))
        for function in ("weights", "queue"):
            self.assertRegex(errors, rf"#0 {function} at ")


class Live(unittest.TestCase):
    def test_memory_of_the_runtime_is_shown_at_the_program_s_line(self):
        with tempfile.TemporaryDirectory(prefix="cuvmm-left-") as folder:
            program = subprocess.Popen([CUVMM, "run", "--emulate", "--live", folder, "--timeline", "--report",
                                        folder + "/r.json", "--", RUNTIME, "kept", "wait"], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(program.communicate)
            self.assertEqual(program.stdout.readline(), "ready\n")
            pid = [name.split("-")[0] for name in os.listdir(folder) if name.endswith(".live")][0]
            leaks = subprocess.run([CUVMM, "leaks", pid, "--since", "0", "--folder", folder], capture_output=True,
                                   text=True, timeout=60).stdout
            self.assertRegex(leaks, r"1 piece of cuMemAlloc made since then and still there, 3 MiB .*\n +#0 weights at ")
            drawn = subprocess.run([CUVMM, "map", pid, "--folder", folder], capture_output=True, text=True, timeout=60).stdout
            self.assertRegex(drawn, r"3 MiB of cuMemAlloc, device 0 \(call \d+, in weights at \S*runtime_kinds.c:\d+ ")
            self.assertNotIn("cuvmm::runtime", drawn)
            program.communicate("\n", timeout=60)
            memory = subprocess.run([CUVMM, "memory", folder + "/r.json"], capture_output=True, text=True, timeout=60)
            self.assertIn("weights at ", memory.stdout)
            self.assertNotIn("cuvmm::runtime", memory.stdout)


if __name__ == "__main__":
    unittest.main()
