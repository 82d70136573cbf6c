# SPDX-License-Identifier: Apache-2.0
"""A refused call shows its arguments, its true reason, and a repair that works in that state.

Usage: refused_test.py BUILD.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

# Findings: the rule, and parts of the message and of the fix that must be there.
RULES = {
    "synchronize": ("stream-capture-wait", "captures in relaxed mode", "end the capture"),
    "query": ("stream-capture-wait", "whatever the capture's mode", "end the capture"),
    "query-joined": ("stream-capture-wait", "has joined the capture", "end the capture"),
    "context": ("stream-capture-wait", "all work of the context", "before the capture begins or after its end"),
    "flags": ("stream-capture-wait", "does not answer this question", "cuStreamIsCapturing"),
    "event": ("stream-capture-event", "was last recorded by a capturing stream, in call", "behind it"),
    "event-after": ("stream-capture-event", "was last recorded by a capturing stream, in call", "behind it"),
    "callback": ("stream-capture-node", "cannot become a node", "cuLaunchHostFunc"),
    "launch-in-capture": ("stream-capture-node", "cannot become a node", "before the capture begins or after its end"),
    "capture-default": ("stream-capture-default", "cannot be captured", "cuStreamCreate"),
    "allocate": ("stream-capture-mode", "thread-local mode", "begin the capture in relaxed mode"),
    "other-stream": ("stream-capture-mode", "global mode", "begin the capture in relaxed mode"),
    "free-of-malloc": ("memory-free-known", "ordinary memory of the host", "free() for malloc"),
    "free-of-variable": ("memory-free-known", "ordinary memory of the host", "nothing for a variable"),
    "stream-of-context": ("stream-alive", "ended with its context", "End the context"),
    "memory-of-context": ("memory-free-once", "ended its context", "leave the free out"),
    "free-twice": ("memory-free-once", "has ended already", "Free the memory once"),
    "free-registered": ("memory-free-function", "that was registered", "cuMemHostUnregister"),
    "free-empty-reservation": ("cuMemFree-not-vmm", "is in a reservation", "Call cuMemAddressFree"),
    "no-init": ("driver-initialized", "cuInit answered CUDA_ERROR_NO_DEVICE", "Check the result of cuInit"),
}
# Calls that no rule checks: the text of the call, the likely reason, and the repair.
REASONS = {
    "unjoined": ("cuStreamEndCapture(hStream=", "does not wait for its last work", "record an event"),
    "isolated": ("cuStreamWaitEvent(hStream=", "recorded outside of the capture", "before the capture begins"),
    "twice": ("cuStreamBeginCapture(hStream=", "captures already", "cuStreamEndCapture"),
    "device": ("cuDevicePrimaryCtxRetain(out=out, device=99)", "device is 99, and this process sees", "cuDeviceGetCount"),
    "device-name": ("device=-1)", "device is -1, and this process sees", "cuDeviceGetCount"),
    "ordinal": ("cuDeviceGet(out=out, ordinal=1000)", "ordinal is 1000, and this process sees", "cuDeviceGetCount"),
    "peer": ("cuCtxEnablePeerAccess(context=NULL, flags=0)", "context is NULL", "cuDevicePrimaryCtxRetain"),
    "peer-flags": ("flags=0x1)", "0x1 is no flag of this function", "pass the flags of this function: 0"),
    "from-null": ("srcDevice=NULL", "srcDevice is NULL", "an allocating call returned"),
    "stream-flags": ("cuStreamCreate(out=out, flags=0x40)", "0x40 is no flag", "CU_STREAM_NON_BLOCKING"),
    "event-flags": ("cuEventCreate(out=out, flags=0x4)", "without CU_EVENT_DISABLE_TIMING", "pass both"),
    "no-out": ("cuEventCreate(out=NULL", "writes its result there", "address of a variable"),
    "null-event": ("hEvent=NULL", "hEvent is NULL", "check that call's result"),
    "strange-event": ("hEvent=0x123450", "saw no call that made event 0x123450", "the making call returned"),
    "elapsed": ("hStart=0x", "hEnd: event 0x", "was never recorded. Fix: record both events"),
    "untimed": ("hStart=0x", "hStart: event 0x", "was made with CU_EVENT_DISABLE_TIMING, and has no time"),
    "free-in-capture": ("cuMemFreeAsync(dptr=0x", "was allocated outside of graphs", "free the memory outside of the capture"),
    "swapped": ("cuMemcpyHtoD(dstDevice=0x", "which is ordinary memory of the host", "swap them"),
    "wild": ("cuMemsetD8(dstDevice=0x123456780000", "the driver knows no memory there", "an allocating call returned"),
    "threads": ("cuLaunchKernel(f=0x", "the block has 2048 threads", "more and smaller blocks"),
    "bus-id": ('id="9999:00:00.0"', "no device that this process sees has this bus id", "cuDeviceGetPCIBusId"),
    "no-context": ("cuMemGetInfo", "no context is current to this thread", "cuCtxSetCurrent"),
}


class Refused(unittest.TestCase):
    def run_case(self, *arguments):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_", "CUDA_VISIBLE"))}
        if arguments == ("no-init",):
            clean["CUDA_VISIBLE_DEVICES"] = ""
        with tempfile.TemporaryDirectory(prefix="cuvmm-reasons-") as folder:
            report = pathlib.Path(folder, "report.json")
            result = subprocess.run([str(BUILD / "bin" / "cuvmm"), "run", "--emulate", "--report", str(report), "--",
                                     str(BUILD / "refused" / "refused"), *arguments], env=clean, text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
            return result, json.loads(report.read_text())

    def test_findings(self):
        for name, (rule, message, fix) in RULES.items():
            with self.subTest(name):
                result, report = self.run_case(name)
                found = [one for one in report["findings"] if one["kind"] == "error"]
                self.assertEqual([one["rule"] for one in found], [rule], result.stderr)
                self.assertIn(message, found[0]["message"])
                self.assertIn(fix, found[0]["fix"])
                self.assertIn(found[0]["fix"], result.stderr)
                if rule != "stream-capture-mode":
                    self.assertNotIn("begin the capture in", found[0]["fix"])

    def test_refusals(self):
        for name, parts in REASONS.items():
            with self.subTest(name):
                result, report = self.run_case(name)
                self.assertEqual(report["findings"], [], result.stderr)
                refusal_text = result.stderr.partition("cuvmm: refused: ")[2]
                for part in parts:
                    self.assertIn(part, refusal_text, result.stderr)
                self.assertTrue(report["refusals"][0]["arguments"] or name == "no-context")

    def test_the_calls_that_were_captured(self):
        result, report = self.run_case("captured-free")
        (found,) = report["findings"]
        self.assertEqual(found["rule"], "graph-memory-ordered")
        self.assertEqual([one["what"] for one in found["objects"]], ["graph node that uses", "graph node that frees"])
        for one, line in zip(found["objects"], ("cuMemsetD8Async", "cuMemFreeAsync")):
            self.assertIn(line, one["stack"][0]["source"], result.stderr)

    def test_the_repair_works(self):
        for name in (*RULES, *REASONS, "captured-free"):
            with self.subTest(name):
                result, report = self.run_case("legal", name)
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
                self.assertEqual([one for one in report["findings"] if one["kind"] != "leak"], [], result.stderr)
                self.assertNotIn("refused", result.stderr)


if __name__ == "__main__":
    unittest.main()
