# SPDX-License-Identifier: Apache-2.0
"""Tests the kinds of findings: which are printed, which make a run fail, and the tables of docs/findings.md.

Usage: findings_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import re
import sys
import unittest

import cli_test

# Asked of an address that is reserved, and of one that is memory.
QUESTIONS = """init()
r0 = cuMemAddressReserve(2M)
h0 = cuMemRetainAllocationHandle(r0)  # CUDA_ERROR_INVALID_VALUE
h1 = cuMemRetainAllocationHandle(r0)  # CUDA_ERROR_INVALID_VALUE
cuMemAddressFree(r0, 2M)
"""
REFUSED = "h0 = cuMemCreate(2M, device=0, handle_types=fabric)  # CUDA_ERROR_NOT_PERMITTED\n"
# Makes one reservation after the other, empties each and frees none.
FORGOTTEN = "".join(f"""r{i} = cuMemAddressReserve(2M)
h{i} = cuMemCreate(2M, device=0)
cuMemMap(r{i}, 2M, h{i})
cuMemUnmap(r{i}, 2M)
cuMemRelease(h{i})
""" for i in range(4))
# Like a PyTorch segment after share(): the program keeps the descriptor for the next process that asks.
SHARED = """init()
r0 = cuMemAddressReserve(2M)
h0 = cuMemCreate(2M, device=0, handle_types=posix_fd)
cuMemMap(r0, 2M, h0)
fd0 = cuMemExportToShareableHandle(h0, posix_fd)
"""
# The memory goes while the fill may not be done.
EARLY_UNMAP = """init()
r0 = cuMemAddressReserve(2M)
h0 = cuMemCreate(2M, device=0)
cuMemMap(r0, 2M, h0)
cuMemSetAccess(r0, 2M, [device0:rw])
s0 = cuStreamCreate(Flags=1)
cuMemsetD8Async(r0, 1, 2M, hStream=s0)
WAIT
cuMemUnmap(r0, 2M)
cuMemRelease(h0)
cuMemAddressFree(r0, 2M)
"""
# Memory without a reservation, and mistakes in its use.
PLAIN = """init()
a0 = cuMemAlloc(4096)
a1 = cuMemAllocAsync(4096)
s0 = cuStreamCreate(Flags=1)
cuCtxSynchronize()
"""
# Calls that are refused because of an earlier call, and findings about that earlier call.
CAPTURE = """init()
s0 = cuStreamCreate(Flags=0)
a0 = cuMemAlloc(4096)
cuStreamBeginCapture(mode=0, hStream=s0)
cuMemsetD8Async(a0, 7, 64, hStream=s0)
WRONG
g0 = cuStreamEndCapture(hStream=s0)  # CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
cuMemFree(a0)
"""
RELAUNCH = """init()
s0 = cuStreamCreate(Flags=1)
cuStreamBeginCapture(mode=2, hStream=s0)
p0 = cuMemAllocAsync(2M, hStream=s0)
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
cuGraphLaunch(x0, hStream=s0)
cuStreamSynchronize(hStream=s0)
cuGraphLaunch(x0, hStream=s0)  # CUDA_ERROR_INVALID_VALUE
cuMemFreeAsync(p0, hStream=s0)
cuStreamSynchronize(hStream=s0)
cuGraphExecDestroy(x0)
"""
# The second launch uses memory that has ended.
GRAPH_OF_ENDED = """init()
s0 = cuStreamCreate(Flags=1)
a0 = cuMemAlloc(4096)
cuStreamBeginCapture(mode=2, hStream=s0)
cuMemsetD8Async(a0, 7, 64, hStream=s0)
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
cuGraphLaunch(x0, hStream=s0)
cuStreamSynchronize(hStream=s0)
cuMemFree(a0)
LAUNCH
cuGraphExecDestroy(x0)
"""
# An event of device 0, and a stream of device 1.
TWO_CONTEXTS = """init()
e0 = cuEventCreate(Flags=2)
cuEventRecord(e0)
context(1)
s0 = cuStreamCreate(Flags=1)
cuStreamWaitEvent(hStream=s0, hEvent=e0, Flags=0)
RECORD
"""
# One graph allocates memory, and another one frees it.
GRAPH_FREES = """init()
s0 = cuStreamCreate(Flags=1)
cuStreamBeginCapture(mode=2, hStream=s0)
p0 = cuMemAllocAsync(2M, hStream=s0)
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
cuStreamBeginCapture(mode=2, hStream=s0)
cuMemFreeAsync(p0, hStream=s0)
g1 = cuStreamEndCapture(hStream=s0)
x1 = cuGraphInstantiateWithFlags(g1)
EARLY
cuGraphLaunch(x0, hStream=s0)
cuGraphLaunch(x1, hStream=s0)
TWICE
cuStreamSynchronize(hStream=s0)
AGAIN
cuGraphLaunch(x0, hStream=s0)
cuGraphLaunch(x1, hStream=s0)
cuStreamSynchronize(hStream=s0)
cuGraphExecDestroy(x0)
cuGraphExecDestroy(x1)
"""
# A launch leaves memory allocated, which END frees, or nobody does.
GRAPH_LEAVES = """init()
s0 = cuStreamCreate(Flags=1)
cuStreamBeginCapture(mode=2, hStream=s0)
p0 = cuMemAllocAsync(2M, hStream=s0)
g0 = cuStreamEndCapture(hStream=s0)
x0 = cuGraphInstantiateWithFlags(g0)
cuGraphLaunch(x0, hStream=s0)
END
cuStreamSynchronize(hStream=s0)
cuGraphExecDestroy(x0)
"""
ECHOES = (
    (CAPTURE.replace("WRONG", "cuMemFree(a0)  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"), "stream-capture-mode"),
    (CAPTURE.replace("WRONG", "cuStreamSynchronize(hStream=s0)  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
     "stream-capture-wait"),
    (CAPTURE.replace("WRONG", "cuMemsetD8(a0, 7, 64)  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"), "stream-capture-legacy"),
    (RELAUNCH, "graph-memory-freed"),
)
PLAIN_MISUSE = (
    ("cuMemFree(a0)\ncuMemsetD8(a0, 1, 16)", "data-alive"),
    ("cuMemFree(a0)\ncuMemcpyHtoD(a0, host(16), 16)", "data-alive"),
    ("cuMemFree(a0)\ncuMemsetD8Async(a0+4000, 1, 16, hStream=s0)", "data-alive"),
    ("cuMemsetD8(a0, 1, 4097)", "data-inside"),
    ("cuMemcpyHtoD(a0+4088, host(16), 16)", "data-inside"),
    ("cuMemcpyDtoH(host(8192), a0, 8192)", "data-inside"),
    ("cuMemsetD8Async(a1, 1, 8192)", "data-inside"),
    ("cuStreamDestroy(hStream=s0)\ncuMemsetD8Async(a0, 1, 16, hStream=s0)", "stream-alive"),
    ("cuStreamDestroy(hStream=s0)\ncuStreamSynchronize(hStream=s0)", "stream-alive"),
    ("e0 = cuEventCreate(Flags=2)\ncuEventDestroy(e0)\ncuEventRecord(e0, hStream=s0)", "event-alive"),
    ("e0 = cuEventCreate(Flags=2)\ncuEventDestroy(e0)\ncuEventDestroy(e0)", "event-alive"),
    ("cuMemFree(a0)\ncuMemcpy(a0, a1, 16)", "data-alive"),
    ("cuMemFree(a0)\ncuStreamWriteValue32(stream=s0, addr=a0, value=1, flags=0)", "data-alive"),
    ("cuMemcpy(a0, a1, 4097)", "data-inside"),
    ("cuMemFree(a0)\ncuStreamBeginCapture(mode=2, hStream=s0)\ncuMemsetD8Async(a0, 7, 64, hStream=s0)\n"
     "g0 = cuStreamEndCapture(hStream=s0)\nx0 = cuGraphInstantiateWithFlags(g0)", "data-alive"),
)


# A program that is right, and the line that makes it wrong.
NEAR_MISSES = (
    (GRAPH_OF_ENDED, "LAUNCH", "cuGraphLaunch(x0, hStream=s0)  # CUDA_ERROR_INVALID_VALUE", "launch-argument-alive"),
    (TWO_CONTEXTS, "RECORD", "cuEventRecord(e0, hStream=s0)  # CUDA_ERROR_INVALID_HANDLE", "event-context"),
)


class Kinds(cli_test.CliTest):
    def found(self, program, *options):
        report, result = self.report_of("--emulate", "--error-exitcode", "9", *options, "--", *self.replay_command(program))
        self.validate(report)
        return {finding["rule"]: finding for finding in report["findings"]}, result

    def test_an_answer_is_in_the_report_and_quiet(self):
        rule = "cuMemRetainAllocationHandle-addr-mapped"
        found, result = self.found(QUESTIONS)
        self.assertEqual((found[rule]["kind"], found[rule]["count"]), ("answer", 2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(rule, result.stderr)
        self.assertIn("0 errors, 0 undefined, 0 leaks in", result.stderr)
        self.assertIn("cuvmm: answer: cuMemRetainAllocationHandle: ", self.found(QUESTIONS, "--verbose")[1].stderr)

    def test_enforce_gives_the_same_answer(self):
        found, result = self.found(QUESTIONS, "--enforce")
        self.assertEqual(found["cuMemRetainAllocationHandle-addr-mapped"]["kind"], "answer")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_try_with_a_fall_back_says_nothing(self):
        rule = "cuMemCreate-fabric-channel"
        handled = "init()\n" + REFUSED * 3 + "h1 = cuMemCreate(2M, device=0)\ncuMemRelease(h1)\n"
        found, result = self.found(handled)
        self.assertEqual((found[rule]["count"], found[rule]["handled"]), (3, 3))
        self.assertNotIn("advice", result.stderr)
        self.assertIn(f"[{rule}]", self.found(handled, "--verbose")[1].stderr)

    def test_a_try_without_one_is_told_once(self):
        found, result = self.found("init()\n" + REFUSED * 3)
        self.assertNotIn("handled", found["cuMemCreate-fabric-channel"])
        lines = [line for line in result.stderr.splitlines() if "[cuMemCreate-fabric-channel]" in line]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("CUDA_ERROR_NOT_PERMITTED, 3 times", lines[0])
        self.assertEqual(result.stderr.count("\n    fix: "), 1, result.stderr)
        self.assertIn("3 advice", result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_advice_names_who_made_the_memory_and_the_fix(self):
        program = "init()\nr0 = cuMemAddressReserve(2M)\nh0 = cuMemCreate(2M, device=0)\ncuMemMap(r0, 2M, h0)\n"
        result = self.found(program + "cuMemGetAddressRange(r0)  # CUDA_ERROR_NOT_FOUND\n", "--leak-check=no")[1]
        self.assertRegex(result.stderr, r"\[cuMemGetAddressRange-access\]; CUDA_ERROR_NOT_FOUND, at [^\n]+\n"
                         r"    mapping 0x[0-9a-f]+, made at [^\n]+\n    reservation 0x[^\n]+\n"
                         r"    fix: Call cuMemSetAccess [^\n]+\n    more: cuvmm explain cuMemGetAddressRange-access\n")

    def test_reservations_that_nobody_comes_back_to(self):
        found, result = self.found("init()\n" + FORGOTTEN)
        self.assertEqual(found["cuMemAddressReserve-freed"]["count"], 4)
        self.assertEqual(result.returncode, 9)
        self.assertIn("4 reservations (8 MiB together)", result.stderr)

    def test_plain_memory_is_known_where_it_is_used(self):
        for streams in ("eager", "late"):
            for lines, rule in PLAIN_MISUSE:
                with self.subTest(lines=lines, streams=streams):
                    found, result = self.found(PLAIN + lines + "\n", f"--streams={streams}")
                    self.assertEqual(set(found), {rule}, result.stderr)
                    self.assertEqual(found[rule]["kind"], "error")
                    self.assertTrue(found[rule]["objects"], "who made it, and who ended it")
        # The emulator's late streams still hold such memory, and fault where it ends meanwhile.
        freed = "cuMemFreeAsync(a1)\ncuMemcpyHtoD(a1, host(16), 16)\n"
        self.assertEqual(set(self.found(PLAIN + freed)[0]), {"data-alive"})
        right = "cuMemsetD8(a0, 1, 4096)\ncuMemcpyHtoD(a0+4080, host(16), 16)\ncuMemsetD8Async(a1, 1, 4096)\n"
        self.assertEqual(set(self.found(PLAIN + right)[0]), set())

    def test_refusals_name_the_call_that_they_are_the_echo_of(self):
        for streams in ("eager", "late"):
            for program, rule in ECHOES:
                with self.subTest(rule=rule, streams=streams):
                    found, result = self.found(program, f"--streams={streams}")
                    self.assertEqual(set(found), {rule}, result.stderr)
                    self.assertTrue(found[rule]["objects"], "since when it captures, or lives")
                    self.assertNotIn("INVALIDATED", result.stderr)

    def test_a_line_makes_a_right_program_wrong(self):
        for program, line, wrong, rule in NEAR_MISSES:
            with self.subTest(rule=rule):
                self.assertEqual(set(self.found(program.replace(line, ""))[0]), set())
                found, result = self.found(program.replace(line, wrong))
                self.assertEqual(set(found), {rule}, result.stderr)
                self.assertTrue(found[rule]["objects"], "who made it")

    def test_a_graph_that_frees_memory_which_does_not_exist(self):
        wrong = "cuGraphLaunch(x1, hStream=s0)  # CUDA_ERROR_INVALID_VALUE"
        for options in (), ("--streams=late",):
            for place, pattern in {
                    "": "",
                    "EARLY": r"a node of the graph frees memory 0x\w+ \(2 MiB\), which another graph allocates, and no launch "
                             r"has allocated that memory yet",
                    "TWICE": r"and call \d+ \(cuGraphLaunch\) has freed that memory: no launch has allocated it since",
                    "AGAIN": r"and call \d+ \(cuGraphLaunch\) has freed that memory: no launch has allocated it since"}.items():
                with self.subTest(place=place, options=options):
                    program = GRAPH_FREES.replace(place or "NONE", wrong)
                    for other in ("EARLY", "TWICE", "AGAIN"):
                        program = program.replace(other, "")
                    found, result = self.found(program, *options)
                    self.assertEqual(set(found), {"graph-free-alive"} if place else set(), result.stderr)
                    if place:
                        self.assertRegex(found["graph-free-alive"]["message"], pattern)
                        self.assertEqual([o["what"] for o in found["graph-free-alive"]["objects"]],
                                         ["graph node that frees", *(["pool-memory"] if place != "EARLY" else []),
                                          "graph node that allocates"])

    def test_memory_that_a_launch_left_is_in_use(self):
        report, result = self.report_of("--emulate", "--", *self.replay_command(GRAPH_LEAVES.replace("END", "")))
        self.validate(report)
        self.assertIn("still in use at the end: 1 piece of graph memory (2 MiB)", result.stderr)
        _, result = self.report_of("--emulate", "--leak-check=full", "--",
                                   *self.replay_command(GRAPH_LEAVES.replace("END", "")))
        self.assertRegex(result.stderr, r"still in use: 1 piece of graph memory \(2 MiB\), made by call \d+")
        self.assertRegex(result.stderr, r"call \d+ launched executable graph 0x\w+, an allocation node of which allocated "
                                        r"0x\w+ \(2 MiB\); call \d+ captured that node, at ")
        self.assertIn("The end of the graph frees none of it, nor does cuDeviceGraphMemTrim", result.stderr)
        for end in "cuMemFreeAsync(p0, hStream=s0)", "cuMemFree(p0)":
            _, result = self.report_of("--emulate", "--", *self.replay_command(GRAPH_LEAVES.replace("END", end)))
            self.assertNotIn("graph memory", result.stderr)

    def test_a_reservation_whose_free_failed(self):
        wrong = "init()\nr0 = cuMemAddressReserve(4M)\ncuMemAddressFree(r0, 2M)  # CUDA_ERROR_INVALID_VALUE\n"
        self.assertEqual(set(self.found(wrong)[0]), {"cuMemAddressFree-exact", "cuMemAddressReserve-freed"})
        self.assertEqual(set(self.found(wrong + "cuMemAddressFree(r0, 4M)\n")[0]), {"cuMemAddressFree-exact"})

    def test_a_descriptor_of_memory_that_is_mapped(self):
        found, result = self.found(SHARED)
        self.assertEqual(found, {})
        self.assertEqual(result.returncode, 0, result.stderr)
        found, _ = self.found(SHARED + "cuMemUnmap(r0, 2M)\ncuMemRelease(h0)\n")
        self.assertEqual(set(found), {"cuMemExportToShareableHandle-fd-closed"})


class OverOnTheEmulatorAlone(cli_test.CliTest):
    """If nothing waited for work that the emulator does at once, cuvmm prints a hint, and no finding."""

    def notes(self, wait, *options, environment=None):
        report, result = self.report_of("--emulate", *options, "--",
                                        *self.replay_command(EARLY_UNMAP.replace("WAIT", wait)), environment=environment)
        self.validate(report)
        rules = [finding["rule"] for finding in report["findings"]]
        return rules, [note for note in report["notes"] if "went well" in note], result.stderr

    def test_it_is_told_with_the_option_that_shows_it(self):
        rules, notes, text = self.notes("")
        self.assertEqual(rules, [])
        self.assertRegex(notes[0], r"^1 use of memory went well only because the emulator does work at once: .*--streams=late$")
        self.assertIn("cuvmm: " + notes[0], text)
        rules, notes, _ = self.notes("", "--streams=late")
        self.assertEqual((rules, notes), (["cuMemUnmap-idle"], []))

    def test_it_names_the_call_the_work_and_the_order_that_is_missing(self):
        _, notes, _ = self.notes("")
        self.assertRegex(notes[0], r"The first: cuMemUnmap \((?:call \d+, )?at .*\) takes \[0x\w+, 0x\w+\) .* away, and cuvmm saw "
                                   r"nothing that orders it behind a fill on stream 0x\w+ \(call \d+, at .*\)\. Wait for that work")

    def test_a_free_on_a_stream_that_does_not_wait_for_a_copy(self):
        # NVlabs/cutile-rs#252: the copy to page-locked memory is on another stream than the free.
        program = """
import ctypes
cuda, ref, size = ctypes.CDLL("libcuda.so.1"), ctypes.byref, ctypes.c_size_t
context, a, b, event = (ctypes.c_void_p() for _ in range(4))
memory, host = ctypes.c_uint64(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuStreamCreate(ref(a), 1) == 0 and cuda.cuStreamCreate(ref(b), 1) == 0 and cuda.cuEventCreate(ref(event), 0) == 0
assert cuda.cuMemAllocHost_v2(ref(host), size(4096)) == 0 and cuda.cuMemAllocAsync(ref(memory), size(4096), b) == 0
assert cuda.cuEventRecord(event, b) == 0 and cuda.cuStreamWaitEvent(a, event, 0) == 0
def copy(): assert cuda.cuMemcpyDtoHAsync_v2(host, memory, size(4096), a) == 0
def free(): assert cuda.cuMemFreeAsync(memory, b) == 0
copy()
ORDER
free()
assert cuda.cuStreamSynchronize(a) == 0 and cuda.cuStreamSynchronize(b) == 0
"""
        def message_of(order):
            _, result = self.report_of("--emulate", "--", sys.executable, "-c", program.replace("ORDER", order))
            return result.stderr
        text = message_of("")
        self.assertRegex(text, r"The first: cuMemFreeAsync \((?:call \d+, )?at free at .*\) takes \[0x\w+, 0x\w+\) \(4 KiB\) away, and cuvmm saw "
                               r"nothing that orders it behind a copy on stream 0x\w+ \(call \d+, at copy at .*\)\. Let its stream wait "
                               r"for an event that is recorded behind that work \(cuStreamWaitEvent\)")
        self.assertNotIn("may have gone well", message_of("cuda.cuEventRecord(event, a); cuda.cuStreamWaitEvent(b, event, 0)"))

    def test_who_waits_needs_none(self):
        self.assertEqual(self.notes("cuStreamSynchronize(s0)")[:2], ([], []))

    def test_nor_who_has_late_streams_or_asked_for_such_findings(self):
        late = self.notes("", environment={"CUVMM_STREAMS": "late"})
        self.assertEqual(late[:2], (["cuMemUnmap-idle"], []))
        self.assertEqual(self.notes("", "--unordered")[:2], (["cuMemUnmap-ordered"], []))


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
