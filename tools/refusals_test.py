# SPDX-License-Identifier: Apache-2.0
"""Tests the text about refused calls: about memory and address space that ran out, and when there is none.

Usage: refusals_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import re
import sys
import unittest

import cli_test

GIB = 1 << 30
OUT_OF_MEMORY = """init()
h0 = cuMemCreate(64G, device=0)
r0 = cuMemAddressReserve(64G)
cuMemMap(r0, 64G, h0)
h1 = cuMemCreate(32G, device=0)
h2 = cuMemCreate(64G, device=0)  # CUDA_ERROR_OUT_OF_MEMORY
"""
# The program frees memory that it does not need, and repeats the call.
TRIED_AGAIN = OUT_OF_MEMORY + """cuMemRelease(h1)
h3 = cuMemCreate(64G, device=0)
"""
# A pool returns no memory below its threshold, which this program never reaches.
CACHED_BY_A_POOL = """init()
p0 = cuDeviceGetDefaultMemPool(0)
cuMemPoolSetAttribute(p0, release_threshold, 1T)
a0 = cuMemAllocAsync(8G)
a1 = cuMemAllocAsync(2G)
cuMemFreeAsync(a0)
h0 = cuMemCreate(200G, device=0)  # CUDA_ERROR_OUT_OF_MEMORY
"""
# A pool that the program created keeps its memory, and another one has nothing idle.
CACHED_BY_AN_OWN_POOL = """init()
o0 = cuMemPoolCreate({{allocType=pinned, location=device0}})
o1 = cuMemPoolCreate({{allocType=pinned, location=device0}})
cuMemPoolSetAttribute(o0, release_threshold, 1T)
a0 = cuMemAllocFromPoolAsync(100G, o0)
a1 = cuMemAllocFromPoolAsync(2G, o1)
cuMemFreeAsync(a0)
{0}
h0 = cuMemCreate(60G, device=0)
"""
OWN_POOL_TRIMMED_TOO_EARLY = """init()
s0 = cuStreamCreate(Flags=1)
o0 = cuMemPoolCreate({allocType=pinned, location=device0})
a0 = cuMemAllocFromPoolAsync(100G, o0, hStream=s0)
cuMemFreeAsync(a0, hStream=s0)
cuMemPoolTrimTo(o0, 0)
h0 = cuMemCreate(60G, device=0)
"""
# A graph allocates memory, which it also frees, or leaves.
OF_A_GRAPH = """init()
s0 = cuStreamCreate(Flags=1)
cuStreamBeginCapture(mode=2, hStream=s0)
p0 = cuMemAllocAsync(100G, hStream=s0)
{0}
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
cuGraphLaunch(x0, hStream=s0)
cuStreamSynchronize(hStream=s0)
a0 = cuMemAlloc(60G)  # CUDA_ERROR_OUT_OF_MEMORY
"""
# Calls that are refused for a reason that cuvmm can find, and the words of the reason and of the repair.
GRAPH = """init()
s0 = cuStreamCreate(Flags=1)
cuStreamBeginCapture(mode=2, hStream=s0)
p0 = cuMemAllocAsync(2M, hStream=s0)
cuMemFreeAsync(p0, hStream=s0)
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
{0}
"""
TWO_CONTEXTS = """init()
a0 = cuMemAlloc(4096)
e0 = cuEventCreate(Flags=2)
cuEventRecord(e0)
context(1)
s0 = cuStreamCreate(Flags=1)
cuStreamWaitEvent(hStream=s0, hEvent=e0, Flags=0)
{0}
"""
REASONS = (
    (GRAPH, "x1 = cuGraphInstantiateWithFlags(g0)  # CUDA_ERROR_NOT_SUPPORTED",
     "such a graph has at most one executable graph at a time", "destroy it first (cuGraphExecDestroy)"),
    (TWO_CONTEXTS, "cuMemsetD8Async(a0, 0, 64, hStream=s0)  # CUDA_ERROR_INVALID_VALUE",
     "is memory of device 0: a fill runs on the device of its stream", "fill on a stream"),
)
# The free is queued, so that the trim comes too early.
TRIMMED_TOO_EARLY = """init()
s0 = cuStreamCreate(Flags=1)
a0 = cuMemAllocAsync(100G, hStream=s0)
cuMemFreeAsync(a0, hStream=s0)
p0 = cuDeviceGetDefaultMemPool(0)
cuMemPoolTrimTo(p0, 0)
h0 = cuMemCreate(60G, device=0)
"""
OUT_OF_ADDRESSES = """init()
r0 = cuMemAddressReserve(1T)
r1 = cuMemAddressReserve(200T)  # CUDA_ERROR_OUT_OF_MEMORY
"""


class Refusals(cli_test.CliTest):
    def refused(self, program, *options):
        report, result = self.report_of("--emulate", "--leak-check=no", "--error-exitcode", "9", *options, "--",
                                        *self.replay_command(program))
        self.validate(report)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("not emulated", result.stderr)  # cuvmm itself calls no function that the emulator lacks
        return report["refusals"], result.stderr

    def test_memory_that_ran_out_names_who_holds_it(self):
        (refusal,), text = self.refused(OUT_OF_MEMORY)
        self.assertEqual((refusal["call"], refusal["result"], refusal["count"], refusal["rule"]),
                         ("cuMemCreate", "CUDA_ERROR_OUT_OF_MEMORY", 1, "cuMemCreate-fits"))
        self.assertNotIn("handled", refusal)
        facts, held = refusal["facts"], refusal["facts"]["held"]
        self.assertEqual(facts["device"], 0)
        self.assertLess(facts["free"], 64 * GIB)
        self.assertLessEqual(facts["free"] + 96 * GIB, facts["total"])
        self.assertEqual((held["bytes"], held["mapped"], held["unmapped"]), (96 * GIB, 64 * GIB, 32 * GIB))
        self.assertEqual(sum(creator["bytes"] for creator in facts["creators"]), 96 * GIB)
        self.assertTrue(all(creator["stack"] for creator in facts["creators"]))
        self.assertIn("cuvmm: refused: cuMemCreate(", text)
        self.assertIn("this program holds 96 GiB (64 GiB mapped, 32 GiB mapped nowhere, kept by handles)", text)

    def test_what_a_pool_keeps_is_told_from_what_the_program_has(self):
        (refusal,), text = self.refused(CACHED_BY_A_POOL)
        facts = refusal["facts"]
        self.assertEqual(facts["held"]["pools"], 2 * GIB)
        self.assertEqual(facts["pools_cached"], 8 * GIB)
        self.assertIn("its default pool keeps 8 GiB of which nothing is allocated", text)

    def test_memory_of_graphs_is_the_programs(self):
        (refusal,), text = self.refused(OF_A_GRAPH.format(""))
        self.assertEqual(refusal["facts"]["held"]["graphs"], 100 * GIB)
        self.assertIn("this program holds 100 GiB (100 GiB allocated by nodes of graphs)", text)
        self.assertNotRegex(text, r"other processes and the driver \d+ GiB")
        (refusal,), text = self.refused(OF_A_GRAPH.format("cuMemFreeAsync(p0, hStream=s0)"))
        self.assertEqual(refusal["facts"]["graphs_idle"], 100 * GIB)
        self.assertIn("the device keeps 100 GiB for this program's graphs, of which nothing is allocated "
                      "(cuDeviceGraphMemTrim gives it back)", text)
        self.assertNotRegex(text, r"other processes and the driver \d+ GiB")

    def test_reasons_name_the_cause_and_the_repair(self):
        for program, line, reason, repair in REASONS:
            with self.subTest(line=line):
                self.assertEqual(self.refused(program.format(""))[0], [])
                (refusal,), _ = self.refused(program.format(line))
                known = " ".join(refusal["facts"]["known"])
                self.assertRegex(known, "the likely reason: .*" + reason)
                self.assertIn(repair, known)

    def test_what_a_created_pool_keeps_is_the_programs_and_named(self):
        (refusal,), text = self.refused(CACHED_BY_AN_OWN_POOL.format("cuCtxSynchronize()"))
        facts = refusal["facts"]
        self.assertEqual((facts["held"]["pools"], facts["pools_cached"]), (2 * GIB, 100 * GIB))
        self.assertIn("its own pools keep 100 GiB of which nothing is allocated", text)
        self.assertNotRegex(text, r"other processes and the driver \d+ GiB")
        (known,) = [each for each in facts["known"] if each.startswith("pool ")]  # only the one that keeps something
        self.assertRegex(known, r"^pool 0x\w+, made by call 1, keeps 100 GiB .* release threshold is 1 TiB, set by call 3: "
                                r".*cuMemPoolTrimTo\(pool, 0\) gives it back$")
        refusals, text = self.refused(CACHED_BY_AN_OWN_POOL.format("cuCtxSynchronize()\ncuMemPoolTrimTo(o0, 0)"))
        self.assertEqual(refusals, [], text)

    def test_frees_of_a_created_pool_that_wait_for_their_turn_are_the_programs(self):
        met = 0
        for seed in range(1, 9):
            refusals, text = self.refused(OWN_POOL_TRIMMED_TOO_EARLY, f"--streams=late:{seed}")
            if not refusals:
                continue  # the free had its turn early enough
            met += 1
            self.assertNotIn("other processes and the driver 100 GiB", text)
            self.assertRegex(text, r"trimmed a pool behind .*: wait for the stream in between")
        self.assertGreater(met, 0)

    def test_a_trim_that_came_before_the_free_had_its_turn_is_named(self):
        met = 0
        for seed in range(1, 9):
            refusals, text = self.refused(TRIMMED_TOO_EARLY, f"--streams=late:{seed}")
            if not refusals:
                continue  # the free had its turn early enough
            met += 1
            self.assertRegex(text, r"trimmed a pool behind .*: wait for the stream in between")
            self.assertNotIn("other processes and the driver 100 GiB", text)
        self.assertGreater(met, 0)

    def test_a_program_that_tries_again_with_success_is_left_alone(self):
        (refusal,), text = self.refused(TRIED_AGAIN)
        self.assertEqual(refusal["handled"], 1)
        self.assertNotIn("refused", text)

    def test_addresses_that_ran_out_name_what_is_left(self):
        (refusal,), text = self.refused(OUT_OF_ADDRESSES)
        self.assertEqual((refusal["call"], refusal["rule"]), ("cuMemAddressReserve", "cuMemAddressReserve-fits"))
        facts = refusal["facts"]
        self.assertEqual((facts["reserved"], facts["reservations"]), (1024 * GIB, 1))
        self.assertLess(facts["largest_free_range"], 200 << 40)
        self.assertIn("this program has reserved 1 TiB in 1 reservation", text)

    @unittest.skipIf(os.path.exists("/dev/nvidia-caps-imex-channels"), "this machine may have an IMEX channel")
    def test_a_machine_that_lacks_something_is_named(self):
        fabric = "init()\nh0 = cuMemCreate(2M, device=0, handle_types=fabric)  # CUDA_ERROR_NOT_PERMITTED\n"
        # Named by its path, the emulator is a driver like any other.
        report, result = self.report_of("--driver", self.emulator(), "--", *self.replay_command(fabric))
        self.validate(report)
        (advice,) = report["findings"]
        self.assertEqual(advice["rule"], "cuMemCreate-fabric-channel")
        self.assertEqual(advice["machine"]["check"], "imex-channels")
        self.assertIn("because of this machine: this process has no IMEX channel", result.stderr)
        self.assertIn("Fix: ", result.stderr)

    def test_a_probe_for_fabric_handles_is_told_twice_at_most(self):
        # Like PyTorch and vLLM: asks for a fabric handle for every block, is refused each time, and then uses a descriptor, or none.
        asks = "h{0} = cuMemCreate(2M, device=0, handle_types=fabric)  # CUDA_ERROR_NOT_PERMITTED\n"
        instead = "g{0} = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
        for each, at_most in ((asks + instead, 0), (asks, 2)):
            program = "init()\n" + "".join(each.format(i) for i in range(73))
            report, result = self.report_of("--driver", self.emulator(), "--leak-check=no", "--",
                                            *self.replay_command(program))
            self.assertEqual(sum(finding["count"] for finding in report["findings"]), 73)
            about = [line for line in result.stderr.splitlines() if re.search("^cuvmm: .*(fabric|FABRIC|NOT_PERMITTED)", line)]
            self.assertLessEqual(len(about), at_most, result.stderr)

    def test_the_machine_is_not_asked_about_the_emulator_or_about_mistakes(self):
        for program in ("init()\nh0 = cuMemCreate(2M, device=0)\n",
                        "init()\nh0 = cuMemCreate(0, device=0)  # CUDA_ERROR_INVALID_VALUE\n"):
            _, result = self.report_of("--driver", self.emulator(), "--", *self.replay_command(program))
            self.assertNotIn("because of this machine", result.stderr)
        _, text = self.refused("init()\nh0 = cuMemCreate(2M, device=0, handle_types=fabric)  # CUDA_ERROR_NOT_PERMITTED\n")
        self.assertNotIn("because of this machine", text)

    def test_without_a_refusal_there_is_none(self):
        refusals, text = self.refused("init()\nh0 = cuMemCreate(2M, device=0)\n")
        self.assertEqual(refusals, [])
        self.assertNotIn("refused", text)

    def test_what_a_finding_explains_is_no_refusal(self):
        report, _ = self.report_of("--emulate", "--", *self.replay_command(
            "init()\nh0 = cuMemCreate(0, device=0)  # CUDA_ERROR_INVALID_VALUE\n"))
        self.assertEqual(report["refusals"], [])
        self.assertEqual([finding["rule"] for finding in report["findings"]], ["cuMemCreate-size-nonzero"])


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
