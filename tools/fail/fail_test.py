#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the commands `cuvmm run --fail`, `cuvmm fail` and `cuvmm hostile`.

Usage: fail_test.py CUVMM BANK [unittest arguments]; BANK is the program of examples/fail_bank.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CUVMM = BANK = None
TWO_PROCESSES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hostile", "two_processes.py")
# One that nothing but the failures of calls can stop.
FRESH = {key: value for key, value in os.environ.items() if not key.startswith("CUVMM_")}


def cuvmm(*arguments, **variables):
    return subprocess.run([CUVMM, *arguments], capture_output=True, text=True, check=False, env={**FRESH, **variables})


def bank(*options, bug="none", command="run"):
    return cuvmm(command, *options, "--emulate", "--devices", "1", "--", BANK, bug)


class FailTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def campaign(self, *options, bug="none"):
        done = bank("--each", "--json", self.path("f.json"), *options, bug=bug, command="fail")
        with open(self.path("f.json"), encoding="utf-8") as file:
            return done, json.load(file)

    # --- One run

    def test_a_call_fails_and_is_named(self):
        done = bank("--fail", "cuMemCreate@3=OUT_OF_MEMORY")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("was made to fail"), 1)
        self.assertIn("cuMemCreate was made to fail and answers CUDA_ERROR_OUT_OF_MEMORY", done.stderr)
        self.assertIn("failed: the second segment", done.stderr)
        self.assertNotIn("sum", done.stdout)

    def test_fail_is_the_same_as_run(self):
        done = bank("--fail", "cuMemCreate@3", command="fail")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: the second segment", done.stderr)

    def test_several_specifications(self):
        done = bank("--fail", "cuMemcpyHtoD@1", "--fail", "cuMemcpyDtoH@1")
        self.assertEqual(done.stderr.count("was made to fail"), 2)

    def test_no_call_no_failure(self):
        done = bank("--fail", "cuMemCreate@100")
        self.assertEqual((done.returncode, done.stdout), (0, "sum 2080\n"))

    def test_by_function_file_and_size(self):
        self.assertEqual(bank("--fail", "cuMemCreate[in=no_such_function]").returncode, 0)
        self.assertEqual(bank("--fail", "cuMemAddressReserve[size=6M]").returncode, 1)
        self.assertEqual(bank("--fail", "cuMemAddressReserve[size=7M..]").returncode, 0)
        self.assertEqual(bank("--fail", "cuMemCreate[device=1]").returncode, 0)
        done = bank("--fail", "cuMemCreate[in=Allocator::create]@1")
        self.assertIn("failed: the first segment", done.stderr)

    def test_the_environment_alone_is_enough(self):
        library = os.path.join(os.path.dirname(CUVMM), "..", "lib")
        shim = os.path.join(library, "libcuvmm-shim.so")
        done = subprocess.run([BANK, "none"], capture_output=True, text=True, check=False,
                              env={**FRESH, "LD_PRELOAD": shim, "CUVMM_FAIL": "cuMemMap@1",
                                   "CUVMM_DRIVER": os.path.join(library, "emulator", "libcuda.so.1")})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cuMemMap was made to fail", done.stderr)
        done = subprocess.run([BANK, "none"], capture_output=True, text=True, check=False,
                              env={**FRESH, "LD_PRELOAD": shim, "CUVMM_FAIL": "cuMemMop@1",
                                   "CUVMM_DRIVER": os.path.join(library, "emulator", "libcuda.so.1")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CUVMM_FAIL is not understood", done.stderr)

    def test_a_failure_is_no_finding(self):
        report = self.path("r.json")
        bank("--fail", "cuMemMap@2", "--report", report)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found["summary"], {"error": 0, "undefined": 0, "leak": 0})
        self.assertEqual(found["refusals"], [])

    # --- Programs that do not end well by themselves

    def test_the_exit_code_of_the_plain_run_may_be_another(self):
        def each(*options):
            return cuvmm("fail", "--each", "--calls", "cuMemCreate", *options, "--emulate", "--devices", "1", "--",
                         "sh", "-c", f"{BANK} none && exit 3")
        done = each()
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("its exit code is 3. It must succeed first", done.stderr)
        self.assertIn("--plain-exit 3", done.stderr)
        done = each("--plain-exit", "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("handled", done.stdout)
        self.assertNotIn("without any failure", done.stdout)

    def test_what_the_plain_run_has_is_told_apart(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "pytest_allocator")
        leak = "import driver; driver.start(); driver.create(2 << 20); driver.release(driver.create(4 << 20))"
        done = cuvmm("fail", "--each", "--calls", "cuMemCreate", "--json", self.path("f.json"), "--emulate", "--",
                     sys.executable, "-c", leak, PYTHONPATH=folder)
        self.assertIn("without any failure of a call the program has a finding already", done.stdout, done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            (sentence,) = json.load(file)["plain_findings"]
        self.assertIn("cuMemCreate-released", sentence)

    # --- The command line

    def test_mistakes_say_what_was_expected(self):
        for arguments, words in [
            (["run", "--fail", "cuMemCrate@1"], "column 1: cuvmm intercepts no function cuMemCrate; did you mean"),
            (["run", "--fail", "cuMemCreate@1=NO"], "column 15: expected a result"),
            (["run", "--fail", "cuMemSetAccess=OUT_OF_MEMORY"], "which has INVALID_VALUE, INVALID_DEVICE"),
            (["fail"], "which calls should fail?"),
            (["fail", "--json", "f", "--fail", "cuMemMap"], "--json needs --each"),
            (["fail", "--plain-exit", "1", "--fail", "cuMemMap"], "--plain-exit needs --each"),
            (["fail", "--each", "--fail", "cuMemMap"], "--fail is for one run"),
            (["fail", "--each", "--calls", "cuMemMop"], "did you mean cuMemMap"),
            (["fail", "--each", "--jobs", "0"], "--jobs"),
            (["hostile", "--streams", "late"], "--streams has no meaning here"),
            (["hostile", "--with", "left-context"], "did you mean left-contexts"),
            (["run", "--hostile", "x"], "expected a number"),
            (["run", "--hostile", "7:poisonn"], "did you mean poison"),
        ]:
            done = cuvmm(*arguments, "--emulate", "--", BANK, "none")
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr)

    # --- Each place

    def test_the_program_without_a_bug_is_clean_or_handled(self):
        done, found = self.campaign("--calls", "cuMemMap,cuMemCreate,cuMemSetAccess")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual({site["verdict"] for site in found["sites"]}, {"handled"})
        self.assertEqual(len(found["sites"]), 6)
        for site in found["sites"]:
            self.assertEqual({"call", "stack", "result", "verdict", "command"} - set(site), set())
            self.assertTrue(all(run["reached"] for run in site["runs"]))
            self.assertEqual(len(site["runs"]), 2)

    def test_the_command_repeats_the_verdict(self):
        done, found = self.campaign("--calls", "cuMemSetAccess", bug="access-ignored")
        self.assertEqual(done.returncode, 1)
        bad = [site for site in found["sites"] if site["verdict"] == "finding"]
        self.assertTrue(bad, done.stdout)
        command = bad[0]["command"].replace("cuvmm run", f"{CUVMM} run --error-exitcode 9", 1)
        again = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=FRESH)
        self.assertEqual(again.returncode, 9, again.stderr)
        self.assertIn(bad[0]["what"].split(" in ")[0], again.stderr)

    def test_junit_and_text(self):
        done = bank("--each", "--calls", "cuMemGetAccess", "--junit", self.path("j.xml"), bug="retain-kept",
                    command="fail")
        suite = xml.etree.ElementTree.parse(self.path("j.xml")).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "2"))
        self.assertIn("leak        cuMemGetAccess in ", done.stdout)
        self.assertIn("1 site, 2 runs: 1 leak", done.stdout)

    def test_resume_makes_no_run_twice(self):
        file = self.path("resume")
        first = self.campaign("--calls", "cuMemMap", "--resume", file)[1]
        with open(file, encoding="utf-8") as text:
            lines = text.readlines()
        self.assertEqual(len(lines), 1 + sum(len(site["runs"]) for site in first["sites"]))
        # A resumed campaign trusts the trials in the file, and does not repeat them.
        with open(file, "w", encoding="utf-8") as text:
            text.writelines(line.replace('"handled"', '"crash"') for line in lines[:-1])
        done, again = self.campaign("--calls", "cuMemMap", "--resume", file)
        self.assertEqual(done.returncode, 1)
        verdicts = [run["verdict"] for site in again["sites"] for run in site["runs"]]
        self.assertEqual(sorted(verdicts), ["crash"] * (len(verdicts) - 1) + ["handled"])

    def test_a_run_that_told_nothing_is_made_again(self):
        file, broken, count = self.path("resume"), self.path("broken"), self.path("count")
        script = f'echo >> {count}; "$0" none; code=$?; [ -e {broken} ] && [ $(wc -l < {count}) -gt 2 ] && ' \
                 'kill -9 $PPID; exit $code'

        def campaign():
            return cuvmm("fail", "--each", "--emulate", "--jobs", "1", "--calls", "cuMemGetAccess", "--resume", file,
                         "--", "sh", "-c", script, BANK)

        with open(broken, "w", encoding="utf-8"):
            pass
        done = campaign()
        self.assertEqual(done.returncode, 125, done.stdout)
        self.assertIn("there is no report", done.stderr)
        with open(file, encoding="utf-8") as text:
            self.assertEqual(len(text.readlines()), 1, "what is known of them is nothing")
        os.remove(broken)
        done = campaign()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("handled", done.stdout)

    def test_calls_that_give_up_are_left_out_but_for_request(self):
        _, found = self.campaign("--calls", "cuMemUnmap")
        self.assertEqual({site["call"] for site in found["sites"]}, {"cuMemUnmap"})
        self.assertNotIn("leak", {site["verdict"] for site in found["sites"]})

    def test_a_program_that_fails_by_itself_is_refused(self):
        done = cuvmm("fail", "--each", "--emulate", "--", BANK, "no-such-bug")
        self.assertEqual(done.returncode, 125)
        self.assertIn("its exit code is 2", done.stderr)

    def test_a_program_without_calls_is_refused(self):
        done = cuvmm("fail", "--each", "--emulate", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("made no call that can be made to fail", done.stderr)

    def test_lines_of_python_are_places(self):
        program = self.path("lines.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import ctypes, sys\n"
                       "cuda = ctypes.CDLL('libcuda.so.1')\n"
                       "context, memory = ctypes.c_void_p(), ctypes.c_uint64()\n"
                       "cuda.cuInit(0)\n"
                       "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                       "cuda.cuCtxSetCurrent(context)\n"
                       "def allocate():\n"
                       "    return cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64))\n"
                       "first = allocate()\n"
                       "second = allocate() + allocate()\n"
                       "sys.exit(3 if first else 4 if second else 0)\n")
        done = cuvmm("fail", "--each", "--emulate", "--devices", "1", "--calls", "cuMemAlloc", "--json", self.path("f.json"),
                     "--", sys.executable, program)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            sites = json.load(file)["sites"]
        if not any(frame.get("file", "").endswith("lines.py") for frame in sites[0]["stack"]):
            self.skipTest("this Python's functions are not known to cuvmm")
        self.assertEqual(sorted(site["what"] for site in sites), ["exit code 3", "exit code 4"])
        self.assertEqual(sorted(site["calls"] for site in sites), [1, 2])
        self.assertIn("cuMemAlloc in allocate at lines.py:8", done.stdout)

    def test_what_only_the_way_out_of_an_error_leaves_is_a_leak(self):
        making = {"event": ("made = cuda.cuEventCreate(ctypes.byref(thing), 0)", "cuda.cuEventDestroy_v2(thing)"),
                  "piece of pool memory": ("made = cuda.cuMemAllocAsync(ctypes.byref(thing), ctypes.c_size_t(64), None)",
                                           "cuda.cuMemFreeAsync(thing, None)"),
                  "empty reservation": ("made = cuda.cuMemAddressReserve(ctypes.byref(thing), ctypes.c_size_t(2 << 20), "
                                        "ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0))",
                                        "cuda.cuMemAddressFree(thing, ctypes.c_size_t(2 << 20))")}
        for what, (make, end) in making.items():
            for careful in (False, True):
                with self.subTest(what, careful=careful):
                    program = self.path("left.py")
                    with open(program, "w", encoding="utf-8") as file:
                        file.write("import ctypes, sys\n"
                                   "cuda = ctypes.CDLL('libcuda.so.1')\n"
                                   "context, memory, thing = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()\n"
                                   "cuda.cuInit(0)\n"
                                   "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                                   "cuda.cuCtxSetCurrent(context)\n"
                                   f"{make}\n"
                                   "failed = cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64))\n"
                                   "if not failed:\n"
                                   "    cuda.cuMemFree_v2(memory)\n"
                                   f"if not failed or {careful}:\n"
                                   f"    {end}\n"
                                   "cuda.cuCtxSynchronize()\n"
                                   "sys.exit(1 if failed else 0)\n")
                    done = cuvmm("fail", "--each", "--emulate", "--devices", "1", "--calls", "cuMemAlloc", "--json",
                                 self.path("f.json"), "--", sys.executable, program)
                    with open(self.path("f.json"), encoding="utf-8") as file:
                        (site,) = json.load(file)["sites"]
                    self.assertEqual(site["verdict"], "handled" if careful else "leak", done.stdout)
                    if not careful:
                        self.assertIn("1 " + what, site["what"])

    # --- The number of failures that a mistake needs

    def retrying(self, patience):
        """A program that tries cuMemCreate `patience` times, and after the last one forgets its reservation."""
        program = self.path("retry.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import ctypes, sys\n"
                       "cuda = ctypes.CDLL('libcuda.so.1')\n"
                       "size = ctypes.c_size_t(1 << 21)\n"
                       "context, base, handle = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()\n"
                       "cuda.cuInit(0)\n"
                       "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                       "cuda.cuCtxSetCurrent(context)\n"
                       "reserved = cuda.cuMemAddressReserve(ctypes.byref(base), size, ctypes.c_size_t(0),\n"
                       "                                    ctypes.c_uint64(0), ctypes.c_uint64(0))\n"
                       "assert reserved == 0\n"
                       "prop = (ctypes.c_int * 8)(1, 0, 1, 0)  # pinned, on device 0\n"
                       f"for attempt in range({patience}):\n"
                       "    if cuda.cuMemCreate(ctypes.byref(handle), size, prop, ctypes.c_uint64(0)) == 0:\n"
                       "        cuda.cuMemRelease(handle)\n"
                       "        cuda.cuMemAddressFree(base, size)\n"
                       "        sys.exit(0)\n"
                       "cuda.cuCtxSynchronize()\n"
                       "sys.exit(1)\n")
        done = cuvmm("fail", "--each", "--minimise", "--emulate", "--devices", "1", "--calls", "cuMemCreate", "--json",
                     self.path("f.json"), "--", sys.executable, program)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(self.path("f.json"), encoding="utf-8") as file:
            (site,) = json.load(file)["sites"]
        self.assertEqual(site["verdict"], "leak", site)
        return program, site

    def test_minimise_finds_how_many_failures_it_takes(self):
        for patience in (2, 5):
            program, site = self.retrying(patience)
            by_mode = {}
            for run in site["runs"]:
                by_mode.setdefault(run["mode"], []).append(run)
            self.assertIn(by_mode["once"][0]["verdict"], ("clean", "handled"))
            self.assertEqual(by_mode["always"][0]["verdict"], "leak")
            fewest = min(by_mode["some"], key=lambda run: int(run["spec"].split("..")[1].split("=")[0]))
            self.assertIn(f"@1..{patience}=", fewest["spec"])
            self.assertEqual(fewest["verdict"], "leak")
            # With one failure less, the program has no leak.
            spec = fewest["spec"].replace(f"..{patience}=", f"..{patience - 1}=")
            report = self.path("less.json")
            less = cuvmm("run", "--emulate", "--devices", "1", "--fail", spec, "--report", report, "--", sys.executable,
                         program)
            self.assertEqual(less.returncode, 0, less.stderr)
            with open(report, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["summary"]["leak"], 0)

    def test_minimise_has_nothing_to_do_where_one_failure_is_enough(self):
        _, found = self.campaign("--minimise", "--calls", "cuMemMap", bug="handle-kept")
        self.assertNotIn("some", {run["mode"] for site in found["sites"] for run in site["runs"]})

    # --- cuvmm hostile

    def test_the_program_bears_each_choice_of_a_driver(self):
        done = bank("--seeds", "6", command="hostile")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_choices_of_a_driver_show_what_a_program_counts_on(self):
        # It expects new memory to be zero.
        program = self.path("zero.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import ctypes, sys\n"
                       "cuda = ctypes.CDLL('libcuda.so.1')\n"
                       "cuda.cuInit(0)\n"
                       "context, memory = ctypes.c_void_p(), ctypes.c_uint64()\n"
                       "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                       "cuda.cuCtxSetCurrent(context)\n"
                       "assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0\n"
                       "got = ctypes.create_string_buffer(64)\n"
                       "assert cuda.cuMemcpyDtoH_v2(got, memory, ctypes.c_size_t(64)) == 0\n"
                       "cuda.cuMemFree_v2(memory)\n"
                       "print(sum(got.raw))\n")
        done = cuvmm("hostile", "--devices", "1", "--seeds", "12", "--json", self.path("h.json"), "--",
                     sys.executable, program)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("poison alone is enough", done.stdout)
        with open(self.path("h.json"), encoding="utf-8") as file:
            seeds = json.load(file)["seeds"]
        for seed in seeds:
            self.assertEqual("poison" in seed["choices"], not seed["same"], seed)
        # The same seed does the same again.
        bad = next(seed for seed in seeds if not seed["same"])
        runs = [cuvmm("run", "--emulate", "--devices", "1", "--hostile", bad["choices"], "--", sys.executable,
                      program).stdout for _ in range(2)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], "0\n")

    def test_each_seed_can_have_a_kind_that_none_has_of_itself(self):
        # It counts on its context after each call that takes memory.
        program = self.path("left.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import ctypes\n"
                       "cuda = ctypes.CDLL('libcuda.so.1')\n"
                       "cuda.cuInit(0)\n"
                       "context, now, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()\n"
                       "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                       "cuda.cuCtxSetCurrent(context)\n"
                       "kept = True\n"
                       "for _ in range(64):\n"
                       "    cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64))\n"
                       "    cuda.cuCtxGetCurrent(ctypes.byref(now))\n"
                       "    kept = kept and now.value == context.value\n"
                       "    cuda.cuCtxSetCurrent(context)\n"
                       "    cuda.cuMemFree_v2(memory)\n"
                       "print(kept)\n")
        options = ["hostile", "--devices", "1", "--seeds", "2"]
        without = cuvmm(*options, "--", sys.executable, program)
        self.assertEqual(without.returncode, 0, without.stdout + without.stderr)
        done = cuvmm(*options, "--with", "left-contexts", "--json", self.path("h.json"), "--", sys.executable, program)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("left-contexts alone is enough", done.stdout)
        self.assertIn("--hostile 1:left-contexts --", done.stdout)
        with open(self.path("h.json"), encoding="utf-8") as file:
            for seed in json.load(file)["seeds"]:
                self.assertIn("left-contexts", seed["choices"])
                self.assertFalse(seed["same"], seed)

    def test_one_seed_repeats_everything_over_two_processes(self):
        def run(choices):
            done = cuvmm("run", "--emulate", "--devices", "3", "--hostile", choices, "--", sys.executable, TWO_PROCESSES)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        kinds = ("scattered-addresses,new-handles,poison,high-descriptors,large-granules,unlike-devices,refusals,"
                 "import-addresses,late-streams")
        first = run(f"11:{kinds}")
        self.assertEqual(first, run(f"11:{kinds}"))
        self.assertNotEqual(first, run(f"12:{kinds}"))
        # The emulator refused calls, and both processes printed their text.
        self.assertIn("refused", first)
        self.assertIn("child", first)
        self.assertIn("parent", first)

    def test_the_same_seed_in_a_campaign(self):
        choices = "5:refusals,unlike-devices"
        runs = [cuvmm("run", "--emulate", "--hostile", choices, "--", BANK, "none") for _ in range(2)]
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        self.assertEqual(runs[0].returncode, runs[1].returncode)

    # --- A fork server

    def test_a_fork_server_finds_the_same(self):
        for bug in ("none", "handle-kept"):
            with self.subTest(bug=bug):
                plain, anew = self.campaign("--calls", "cuMemMap,cuMemCreate", bug=bug)
                forked, known = self.campaign("--calls", "cuMemMap,cuMemCreate", "--fork-server", bug=bug)
                self.assertNotIn("--fork-server:", forked.stderr)
                self.assertEqual(plain.returncode, forked.returncode)
                pick = ("call", "site", "result", "verdict")
                self.assertEqual([[site[key] for key in pick] for site in anew["sites"]],
                                 [[site[key] for key in pick] for site in known["sites"]])

    def test_a_fork_server_times_out_and_sees_crashes(self):
        verdicts = {}
        for bug, seconds in (("stays-locked", "10"), ("null-used", "120")):
            _, known = self.campaign("--fork-server", "--calls", "cuMemCreate", "--timeout", seconds, bug=bug)
            verdicts[bug] = {site["verdict"] for site in known["sites"]}
        self.assertIn("hang", verdicts["stays-locked"])
        self.assertIn("crash", verdicts["null-used"])

    def test_threads_prevent_a_fork_server(self):
        program = self.path("threads.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import ctypes, threading\n"
                       "done = threading.Event()\n"
                       "other = threading.Thread(target=done.wait)\n"
                       "other.start()\n"
                       "cuda = ctypes.CDLL('libcuda.so.1')\n"
                       "cuda.cuInit(0)\n"
                       "context = ctypes.c_void_p()\n"
                       "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                       "done.set()\n"
                       "other.join()\n")
        done = cuvmm("fail", "--each", "--emulate", "--fork-server", "--", sys.executable, program)
        self.assertIn("the program has 2 threads when it calls cuInit", done.stderr)
        self.assertIn("Each run starts the program anew", done.stderr)


if __name__ == "__main__":
    CUVMM, BANK = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
