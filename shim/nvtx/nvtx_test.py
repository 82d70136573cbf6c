# SPDX-License-Identifier: Apache-2.0
"""NVTX in programs that use NVIDIA's own headers, and Python's nvtx package: the names in findings.

Usage: nvtx_test.py CUVMM [unittest arguments]. Needs the shim and the emulator in place. The headers and the package
lie in .deps/venv (shim/nvtx/requirements.txt); without them the tests are skipped.
"""
import glob
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import unittest

CUVMM = None

# A program that gets the driver's functions by dlsym: it needs no header of CUDA.
PRELUDE = r"""
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
typedef unsigned long long u64;
static void* cuda;
static void* must(void* found) { if (!found) abort(); return found; }
#define CALL(name, ...) ((int (*)())must(dlsym(cuda, #name)))(__VA_ARGS__)
static u64 reserve(size_t size) {
  u64 at = 0;
  if (CALL(cuMemAddressReserve, &at, size, (size_t)0, (u64)0, (u64)0)) abort();
  return at;
}
static void start(void) {
  cuda = must(dlopen("libcuda.so.1", RTLD_NOW));
  if (CALL(cuInit, 0)) abort();
}
#define M ((size_t)2 << 20)
"""

# Frees twice in ranges, which is wrong.
RANGES = PRELUDE + r"""
static void twice(u64 at) {
  CALL(cuMemAddressFree, at, M);
  CALL(cuMemAddressFree, at, M);
}
int main(void) {
  start();
  nvtxRangePushA("outside");
  twice(reserve(M));
  nvtxRangePop();
  nvtxRangeId_t step = nvtxRangeStartA("step 1");
  nvtxRangePushA("kv_cache");
  nvtxRangePushA("grow");
  u64 at = reserve(M);
  nvtxRangePop();
  nvtxRangePushA("layer 12");
  CALL(cuMemAddressFree, at, M / 2);
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangeEnd(step);
  return 0;
}
"""

# The memory of the program's own allocator ends while parts of it are in use.
MEMORY = PRELUDE + r"""
int main(void) {
  start();
  u64 at = reserve(M);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("allocator");
  nvtxMemVirtualRangeDesc_t all = {M, (void*)at};
  nvtxMemHeapDesc_t heap = {0};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof all;
  heap.typeSpecificDesc = &all;
  heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
  heap.message.ascii = "kv_cache";
  nvtxMemHeapHandle_t handle = nvtxMemHeapRegister(domain, &heap);
  nvtxMemVirtualRangeDesc_t part = {65536, (void*)(at + 65536)};
  nvtxMemRegionHandle_t region;
  nvtxMemRegionsRegisterBatch_t batch = {0};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = handle;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof part;
  batch.regionDescElements = &part;
  batch.regionHandleElementsOut = &region;
  nvtxMemRegionsRegister(domain, &batch);
  nvtxMemRegionNameDesc_t name = {0};
  name.regionRefType = NVTX_MEM_REGION_REF_TYPE_HANDLE;
  name.nameType = NVTX_MESSAGE_TYPE_ASCII;
  name.region.handle = region;
  name.name.ascii = "block 12";
  nvtxMemRegionsNameBatch_t names = {0};
  names.extCompatID = NVTX_EXT_COMPATID_MEM;
  names.structSize = sizeof names;
  names.regionCount = 1;
  names.regionElementSize = sizeof name;
  names.regionElements = &name;
  nvtxMemRegionsName(domain, &names);
  CALL(cuMemAddressFree, at, M / 2);
  return 0;
}
"""

# Another tool, which handles the pushes of ranges.
TOOL = r"""
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
static int push(const char* name) { printf("heard %s\n", name); return 7; }
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const NvtxExportTableCallbacks* callbacks = get(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned count;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count);
  *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
  return 1;
}
"""

PYTHON = """
import ctypes, nvtx
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
at = ctypes.c_uint64()
with nvtx.annotate("epoch", color="red"):
    assert cuda.cuMemAddressReserve(ctypes.byref(at), ctypes.c_size_t(2 << 20), ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0)) == 0
    with nvtx.annotate("free twice", domain="app"):
        cuda.cuMemAddressFree(at, ctypes.c_size_t(1 << 20))
"""


def headers():
    """The folder with nvtx3/ in it, or None."""
    inside = glob.glob(os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "include"))
    for folder in inside + [os.environ.get("CUDA_INCLUDE") or "/usr/local/cuda/include"]:
        if os.path.exists(os.path.join(folder, "nvtx3", "nvToolsExtMem.h")):
            return folder
    return None


class NvtxTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-nvtx-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compiled(self, name, source, *flags):
        include = headers()
        if not include:
            self.skipTest("needs NVTX's headers: shim/nvtx/requirements.txt, or a CUDA toolkit")
        path = os.path.join(self.folder, name)
        build = subprocess.run(["cc", "-x", "c", "-w", "-g", "-isystem", include, "-", "-o", path, "-ldl", *flags],
                               input=source, capture_output=True, text=True, check=False)
        self.assertEqual(build.returncode, 0, build.stderr)
        return path

    def run_(self, *words, **environment):
        """The finished process, and the findings of its report."""
        report = os.path.join(self.folder, "report.json")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CUVMM_", "NVTX_"))}
        result = subprocess.run([CUVMM, "run", "--emulate", "--report", report, *words], capture_output=True, text=True,
                                timeout=100, check=False, cwd=self.folder, env={**clean, **environment})
        with open(report, encoding="utf-8") as file:
            return result, json.load(file)["findings"]


class Ranges(NvtxTest):
    def test_a_finding_says_in_which_ranges_it_came_and_its_objects_were_made(self):
        program = self.compiled("ranges", RANGES)
        result, findings = self.run_("--", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        mistakes = [one for one in findings if one["call"] == "cuMemAddressFree"]
        within = [one.get("ranges") for one in mistakes]
        self.assertIn(["outside"], within)
        self.assertIn(["step 1", "kv_cache", "layer 12"], within)
        partial = mistakes[within.index(["step 1", "kv_cache", "layer 12"])]
        self.assertIn(["step 1", "kv_cache", "grow"], [one.get("ranges") for one in partial["objects"]])
        self.assertIn("    within step 1 / kv_cache / layer 12\n", result.stderr)
        self.assertRegex(result.stderr, r"reservation 0x\w+ .*made by call \d+ \(\w+\) within step 1 / kv_cache / grow\n")
        again = subprocess.run([CUVMM, "report", os.path.join(self.folder, "report.json")], capture_output=True,
                               text=True, check=False)
        self.assertIn("    within step 1 / kv_cache / layer 12\n", again.stdout)

    def test_a_leak_says_where_it_was_made(self):
        program = self.compiled("leak", PRELUDE + r"""
          struct { int type, handles, location, device; void* more; unsigned char flags[8]; } prop = {1, 0, 1, 0};
          int main(void) {
            u64 memory;
            start();
            nvtxRangePushA("grow");
            if (CALL(cuMemCreate, &memory, M, &prop, (u64)0)) abort();
            nvtxRangePop();
            return 0;
          }""")
        result, findings = self.run_("--leak-check=full", "--", program)
        self.assertIn(["grow"], [one.get("ranges") for finding in findings for one in finding["objects"]])
        self.assertRegex(result.stderr, r"made by call \d+ \(\w+\) within grow\n")

    def test_only_findings_in_some_ranges(self):
        program = self.compiled("ranges", RANGES)
        _, everything = self.run_("--", program)
        _, some = self.run_("--nvtx-include", "layer*", "--", program)
        self.assertEqual([one["ranges"][-1] for one in some], ["layer 12"])
        self.assertGreater(len(everything), len(some))
        _, none = self.run_("--nvtx-include", "never", "--", program)
        self.assertEqual(none, [])
        _, two = self.run_("--nvtx-include", "layer*", "--nvtx-include", "outside", "--", program)
        self.assertEqual({one["ranges"][-1] for one in two}, {"layer 12", "outside"})

    def test_without(self):
        program = self.compiled("ranges", RANGES)
        _, findings = self.run_("--no-nvtx", "--", program)
        self.assertEqual([one for one in findings if "ranges" in one], [])
        self.assertTrue(findings)

    def test_another_tool_hears_of_it_too(self):
        program = self.compiled("ranges", RANGES)
        tool = self.compiled("tool.so", TOOL, "-shared", "-fPIC")
        result, findings = self.run_("--", program, NVTX_INJECTION64_PATH=tool)
        self.assertEqual(result.stdout.splitlines(), ["heard outside", "heard kv_cache", "heard grow", "heard layer 12"])
        self.assertIn(["step 1", "kv_cache", "layer 12"], [one.get("ranges") for one in findings])
        # A cuvmm inside of a cuvmm calls the tool as well, and a cuvmm without NVTX restores the
        # variable.
        for inner in ((), ("--no-nvtx",)):
            result, _ = self.run_("--", CUVMM, "run", *inner, "--", program, NVTX_INJECTION64_PATH=tool)
            self.assertIn("heard layer 12", result.stdout)

    def test_a_tool_that_is_not_there_changes_nothing(self):
        program = self.compiled("ranges", RANGES)
        result, findings = self.run_("--", program, NVTX_INJECTION64_PATH="/nowhere/tool.so")
        self.assertEqual(result.returncode, 0)
        self.assertIn(["outside"], [one.get("ranges") for one in findings])

    def test_python(self):
        try:
            import nvtx  # noqa: F401
        except ImportError:
            self.skipTest("needs Python's nvtx package: shim/nvtx/requirements.txt")
        result, findings = self.run_("--", sys.executable, "-c", PYTHON)
        self.assertEqual(result.returncode, 0, result.stderr)
        mistake = next(one for one in findings if one["call"] == "cuMemAddressFree")
        self.assertEqual(mistake["ranges"], ["epoch", "app: free twice"])
        self.assertIn("    within epoch / app: free twice\n", result.stderr)


class Memory(NvtxTest):
    def test_heaps_name_memory_and_regions_are_reported(self):
        program = self.compiled("memory", MEMORY)
        result, findings = self.run_("--", program)
        mistake = next(one for one in findings if one["call"] == "cuMemAddressFree")
        memory = next(one for one in mistake["objects"] if one["what"] == "reservation")
        self.assertEqual(memory["name"], "allocator: kv_cache")
        self.assertEqual((memory["regions"], memory["region_count"]), (["block 12, 64 KiB"], 1))
        self.assertRegex(result.stderr, r'reservation 0x\w+ "allocator: kv_cache" \(2 MiB\)')
        self.assertIn("in it: block 12, 64 KiB (by NVTX)\n", result.stderr)

    def test_other_formats_say_it_too(self):
        program = self.compiled("memory", MEMORY.replace("  u64 at = reserve(M);", """
  nvtxRangePushA("grow");
  u64 at = reserve(M);
  nvtxRangePop();
  nvtxEventAttributes_t layer = {0};
  layer.version = NVTX_VERSION;
  layer.size = sizeof layer;
  layer.messageType = NVTX_MESSAGE_TYPE_ASCII;
  layer.message.ascii = "layer 12";
  nvtxDomainRangePushEx(nvtxDomainCreateA("model"), &layer);""", 1))
        report, sarif, trace = (os.path.join(self.folder, name) for name in ("report.json", "r.sarif", "r.perfetto-trace"))
        self.run_("--report", sarif, "--report", trace, "--", program)
        with open(sarif, encoding="utf-8") as file:
            results = json.load(file)["runs"][0]["results"]
        result = next(one for one in results if one["properties"]["call"].startswith("cuMemAddressFree"))
        self.assertEqual(result["properties"]["nvtxRanges"], ["model: layer 12"])
        made = next(one for one in result["relatedLocations"] if "was made here" in one["message"]["text"])
        self.assertRegex(made["message"]["text"], r'^reservation 0x\w+ "allocator: kv_cache" was made here, within grow$')
        self.assertEqual(made["properties"], {"name": "allocator: kv_cache", "nvtxRanges": ["grow"],
                                              "nvtxRegions": ["block 12, 64 KiB"], "nvtxRegionCount": 1})
        text = subprocess.run([CUVMM, "report", report], capture_output=True, text=True, check=False).stdout
        self.assertIn("in it: block 12, 64 KiB (by NVTX)\n", text)
        self.assertIn("    within model: layer 12\n", text)
        for pattern, some in (("layer*", True), ("model: *", True), ("model", False)):
            _, findings = self.run_("--nvtx-include", pattern, "--", program)
            self.assertEqual(bool(findings), some, pattern)
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        except ImportError:
            self.skipTest("needs Python's perfetto package: tools/view/requirements.txt")
        read = perfetto_trace_pb2.Trace()
        with open(trace, "rb") as file:
            read.ParseFromString(file.read())
        strings = {}
        for packet in read.packet:
            for one in packet.track_event.debug_annotations:
                strings.setdefault((packet.track_event.type, one.name), []).append(one.string_value)
        slices, instants = perfetto_trace_pb2.TrackEvent.TYPE_SLICE_BEGIN, perfetto_trace_pb2.TrackEvent.TYPE_INSTANT
        self.assertIn("model: layer 12", strings[instants, "NVTX ranges"])
        self.assertEqual(strings[slices, "NVTX ranges"], ["grow"])
        self.assertEqual(strings[slices, "name"], ["allocator: kv_cache"])
        self.assertEqual(strings[slices, "NVTX regions"], ["block 12, 64 KiB"])


if __name__ == "__main__":
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
