# SPDX-License-Identifier: Apache-2.0
"""A call that names an object after its end has a finding, and the call before the object's end has
none. Likewise for a graph that is instantiated after the code of one of its kernels was unloaded:
a driver dies of it.

Usage: ended_test.py BUILD.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

# The rule that the call breaks, and a part of its message.
CASES = {
    "launch-function": ("code-alive", "is of a module or a library that was unloaded"),
    "ask-function": ("code-alive", "is of a module or a library that was unloaded"),
    "launch-kernel": ("code-alive", "is of a module or a library that was unloaded"),
    "function-of-context": ("code-alive", "ended with its context"),
    "fill-global": ("data-alive", "in a global of a module or a library that was unloaded"),
    "copy-to-node-memory": ("data-alive", "memory of a graph's allocation node"),
    "copy-from-host": ("data-alive", "lies in memory that has ended"),
    "copy-to-freed-host": ("data-alive", "dstHost: 0x"),
    "copy-from-freed-host": ("data-alive", "srcHost: 0x"),
    "copy-any-from-freed-host": ("data-alive", "src: 0x"),
    "copy-from-host-of-context": ("data-alive", "(cuCtxDestroy) ended its context"),
    "ask-host-of-context": ("host-memory-alive", "(cuCtxDestroy) ended its context"),
    "copy-from-unregistered": ("data-alive", "lies in memory that has ended"),
    "copy-rows-to-unmapped": ("data-alive", "in registered memory that the host cannot read"),
    "ask-array": ("array-alive", "was destroyed"),
    "set-context": ("context-alive", "was destroyed"),
    "push-context": ("context-alive", "was destroyed"),
    "ask-stream": ("stream-alive", "was destroyed"),
    "add-to-graph": ("graph-alive", "was destroyed"),
    "own-child": ("graph-not-own-child", "to which the call adds the node"),
    "own-child-by-params": ("graph-not-own-child", "to which the call adds the node"),
    "describe-nothing": ("resource-description-not-empty", "nbResources is 0"),
    "ask-capture": ("stream-alive", "was destroyed"),
    "ask-capture-info": ("stream-alive", "was destroyed"),
    "ask-stream-of-thread": ("stream-alive", "was destroyed"),
    "ask-capture-of-thread": ("stream-alive", "was destroyed"),
    "ask-capture-info-of-thread": ("stream-alive", "was destroyed"),
    "end-capture": ("stream-alive", "was destroyed"),
    "ask-node": ("graph-alive", "was destroyed, or its graph was"),
    "ask-destroyed-node": ("graph-alive", "was destroyed, or its graph was"),
    "depend-on-node": ("graph-alive", "was destroyed, or its graph was"),
    "free-plain-by-node": ("graph-free-node-memory", "is memory of cuMemAlloc"),
    "free-plain-by-params": ("graph-free-node-memory", "is memory of cuMemAlloc"),
    "ask-host-address": ("host-memory-alive", "is in memory that has ended"),
    "ask-host-flags": ("host-memory-alive", "is in memory that has ended"),
    "captured-copy-unregistered": ("launch-argument-alive", "in the graph uses memory that is not registered any more"),
    "captured-copy-unmapped": ("launch-argument-alive", "in the graph uses memory that is not registered any more"),
    "captured-copy-freed": ("launch-argument-alive", "in the graph uses memory that has ended"),
    "added-copy-unregistered": ("launch-argument-alive", "in the graph uses memory that is not registered any more"),
    "captured-copy-registered-again": ("launch-argument-alive", "in the graph uses memory that is not registered any more"),
    "copy-added-behind-unmap": ("launch-argument-alive", "in the graph uses memory that has ended"),
    "pageable-copy-unmapped": ("launch-argument-alive", "uses memory of the host that the host cannot read"),
    "record-node": ("event-alive", "was destroyed"),
    "wait-node": ("event-alive", "was destroyed"),
    "semaphores-signal": ("announced-array-nonnull", "extSemArray is NULL, and numExtSems is 1"),
    "semaphores-wait": ("announced-array-nonnull", "paramsArray is NULL, and numExtSems is 1"),
    "semaphores-by-params": ("announced-array-nonnull", "extSemArray is NULL"),
    "semaphores-set": ("announced-array-nonnull", "extSemArray is NULL"),
    "alloc-node-access": ("announced-array-nonnull", "accessDescs is NULL, and accessDescCount is 1"),
    "library-options": ("announced-array-nonnull", "libraryOptions is NULL, and numLibraryOptions is 1"),
    "packed-size": ("announced-array-nonnull", "extra: the size of CU_LAUNCH_PARAM_BUFFER_SIZE is NULL"),
    "semaphore-launch": ("cuGraphLaunch-semaphore-nonnull", "names NULL as an external semaphore"),
    "semaphore-launch-of-child": ("cuGraphLaunch-semaphore-nonnull", "names NULL as an external semaphore"),
    "semaphore-launch-of-updated": ("cuGraphLaunch-semaphore-nonnull", "names NULL as an external semaphore"),
    "array-of-context": ("array-alive", "was destroyed, or its context was"),
}
# The driver has returned the handle again, or the program has mapped the address again.
LEGAL = ("new-function", "copy-from-new-host", "copy-from-own-after-unregister", "new-node", "copy-added-behind-unregister",
         "semaphore-launch-of-mended")
UNLOADED = ("node", "node-by-params", "kernel-of-library", "changed-node", "child", "clone", "captured")
UPDATED = ("update-to-other", "update-to-captured")
# No node of the graph runs the unloaded code, or the graph was instantiated before.
STILL_LOADED = ("destroyed-node", "other-function", "changed-clone", "other-graph", "made-before", "update-to-equal",
                "update-from-unloaded")


class Ended(unittest.TestCase):
    def findings(self, *arguments, options=(), program="ended"):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
        with tempfile.TemporaryDirectory(prefix="cuvmm-ended-") as folder:
            report = pathlib.Path(folder, "report.json")
            result = subprocess.run([str(BUILD / "bin" / "cuvmm"), "run", "--emulate", *options, "--report", str(report), "--",
                                     str(BUILD / "left" / program), *arguments], env=clean, text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
            found = json.loads(report.read_text())["findings"]
        return result, [(one["rule"], one["message"]) for one in found if one["kind"] != "leak"]

    def test_after_its_end(self):
        for name, (rule, words) in CASES.items():
            with self.subTest(name):
                result, found = self.findings(name)
                if "unmap" not in name:  # the process may have mapped other memory there
                    self.assertNotEqual(result.stdout, "0\n")
                self.assertEqual([one[0] for one in found], [rule], result.stderr)
                self.assertIn(words, found[0][1])

    def test_a_graph_of_unloaded_code(self):
        for arguments in (*((name,) for name in UNLOADED), ("node", "mapped")):
            with self.subTest(arguments):
                result, found = self.findings(*arguments, program="unloaded")
                self.assertEqual([one[0] for one in found], ["graph-code-loaded"], result.stderr)
                self.assertIn("which is of a module or a library that was unloaded", found[0][1])
                self.assertIn("Unload", result.stderr)  # the call that unloaded it
                self.assertEqual(result.stdout, "1\n")

    def test_an_update_to_unloaded_code(self):
        for name in UPDATED:
            with self.subTest(name):
                result, found = self.findings(name, program="unloaded")
                self.assertEqual([one[0] for one in found], ["cuGraphExecUpdate-code-loaded"], result.stderr)
                self.assertNotEqual(result.stdout, "0\n")

    def test_enforced(self):
        for program, name, rule in (("ended", "own-child", CASES["own-child"][0]),
                                    ("ended", "semaphores-set", "announced-array-nonnull"),
                                    ("ended", "semaphore-launch", "cuGraphLaunch-semaphore-nonnull"),
                                    ("unloaded", "update-to-captured", "cuGraphExecUpdate-code-loaded"),
                                    ("ended", "describe-nothing", CASES["describe-nothing"][0]),
                                    ("unloaded", "node", "graph-code-loaded")):
            result, found = self.findings(name, options=["--enforce"], program=program)
            self.assertEqual([one[0] for one in found], [rule])
            self.assertIn("without asking the driver", result.stderr)

    def test_freed_although_it_is_a_variable_of_a_module(self):
        result, found = self.findings("free-global")
        self.assertEqual((result.stdout, [one[0] for one in found]), ("1\n", ["memory-free-known"]), result.stderr)

    def test_touched_by_the_host(self):
        result, _ = self.findings("touch-host-of-context")
        self.assertRegex(result.stderr, r"was ended by signal 11 \(SIGSEGV\): 0x[0-9a-f]+ lies in what was memory .*: "
                                        r"ended by cuCtxDestroy\(")
        self.assertEqual(self.findings("touch-host-of-context", "alive")[0].stdout, "0\n")

    def test_before_its_end(self):
        for program, name in (*(("ended", name) for name in (*CASES, *LEGAL)),
                              *(("unloaded", name) for name in (*UNLOADED, *UPDATED, *STILL_LOADED))):
            with self.subTest(name):
                result, found = self.findings(name, "alive", program=program)
                self.assertEqual((result.stdout, found), ("0\n", []), result.stderr)

    def test_given_out_again(self):
        for program, name in (*(("ended", name) for name in LEGAL), *(("unloaded", name) for name in STILL_LOADED)):
            with self.subTest(name):
                result, found = self.findings(name, program=program)
                self.assertEqual((result.stdout, found), ("0\n", []), result.stderr)


unittest.main()
