# SPDX-License-Identifier: Apache-2.0
"""Tests `cuvmm run --report FILE` and `cuvmm view`: programs of other projects read each format.

Usage: view_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
The readers come from tools/view/requirements.txt; a test without its reader is skipped.
"""
import importlib
import json
import os
import pickle
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cli_test  # noqa: E402

# Two mappings, of which one is undone; memory of cuMemAlloc; a descriptor; one mistake; one leak.
PROGRAM = """init()
r0 = cuMemAddressReserve(8M)
h0 = cuMemCreate(2M, device=0, handle_types=posix_fd)
h1 = cuMemCreate(2M, device=1)
cuMemMap(r0, 2M, h0)
cuMemMap(r0+2M, 2M, h1)
cuMemSetAccess(r0, 4M, [device0:rw])
fd0 = cuMemExportToShareableHandle(h0, posix_fd)
h2 = cuMemImportFromShareableHandle(fd0, posix_fd)
cuMemRelease(h2)
close(fd0)
p0 = cuMemAlloc(1M)
cuMemMap(r0+4M, 2M, h0, offset=2M)  # CUDA_ERROR_INVALID_VALUE
cuMemFree(p0)
cuMemUnmap(r0+2M, 2M)
cuMemRelease(h1)
cuMemRelease(h0)
"""
# With --streams=late, the fill is done only when a call waits for it.
EARLY_UNMAP = """init()
r0 = cuMemAddressReserve(2M)
h0 = cuMemCreate(2M, device=0)
cuMemMap(r0, 2M, h0)
cuMemSetAccess(r0, 2M, [device0:rw])
cuMemsetD8Async(r0, 1, 2M, hStream=0)
cuMemUnmap(r0, 2M)
cuMemRelease(h0)
"""
SPARSE_DRIVER = """
#include <stddef.h>
int cuInit(unsigned flags) { return flags != 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuMemGetAllocationGranularity(size_t* size, const void* prop, int option) {
  *size = 2 << 20; return !prop + option / 2;
}
int cuMemCreate(unsigned long long* handle, size_t size, const void* prop, unsigned long long flags) {
  *handle = 0xe000; return !size + !prop + (flags != 0);
}
int cuMemMapArrayAsync(const void* list, unsigned count, void* stream) { return !list + !count + (stream != 0); }
// Tiles of 64 x 128, no mip tail.
int cuArrayGetSparseProperties(unsigned* properties, void* array) {
  for (int i = 0; i < 12; ++i) properties[i] = 0;
  properties[0] = 64, properties[1] = 128, properties[2] = 1;
  return !array;
}
int cuArrayDestroy(void* array) { return !array; }
"""
# Two regions of an array show memory; then one of them no longer does. At the end the array is destroyed.
SPARSE = """
#include <cuda.h>
int main(void) {
  CUmemGenericAllocationHandle memory;
  CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              .allocFlags = {.usage = CU_MEM_CREATE_USAGE_TILE_POOL}};
  CUarrayMapInfo tiles[2] = {{0}};
  if (cuInit(0)) return 2;
  if (cuMemCreate(&memory, 2 << 20, &prop, 0)) return 3;
  for (unsigned i = 0; i < 2; ++i) {
    CUarrayMapInfo* tile = &tiles[i];
    tile->resourceType = CU_RESOURCE_TYPE_ARRAY;
    tile->resource.array = (CUarray)0x7000;
    tile->subresource.sparseLevel.offsetX = 128 * i;
    tile->subresource.sparseLevel.extentWidth = tile->subresource.sparseLevel.extentHeight = 128;
    tile->subresource.sparseLevel.extentDepth = 1;
    tile->memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    tile->memHandle.memHandle = memory;
    tile->offset = 65536 * i;
    tile->deviceBitMask = 1;
  }
  if (cuMemMapArrayAsync(tiles, 2, 0)) return 4;
  tiles[0].memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  tiles[0].memHandle.memHandle = 0;
  if (cuMemMapArrayAsync(tiles, 1, 0)) return 5;
  return cuArrayDestroy((CUarray)0x7000) ? 6 : 0;
}
"""
KINDS = {"reservation": 1, "allocation": 2, "import": 1, "mapping": 2, "export": 1, "device memory": 1}


def reader(test, module):
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        return test.skipTest(f"{problem} (tools/view/requirements.txt)")


class ViewTest(cli_test.CliTest):
    def reports(self, *names, program=PROGRAM, more=()):
        options = []
        for name in names:
            options += ["--report", self.path(name)]
        result = self.run_("--emulate", *options, *more, "--", *self.replay_command(program))
        self.assertIn(result.returncode, (0, 1), result.stderr)
        for name in names:
            self.assertIn(f"report in {self.path(name)}", result.stderr)
        return result

    def read(self, name, mode="r"):
        with open(self.path(name), mode) as file:
            return file.read()

    def timeline(self, name="report.json"):
        report = json.loads(self.read(name))
        timeline = report["timeline"]
        columns = timeline["columns"]["objects"]
        for process in timeline["processes"]:
            process["objects"] = [dict(zip(columns, row)) for row in process["objects"]]
            for one in process["objects"]:
                one["kind"] = timeline["kinds"][one["kind"]]
        return report, timeline["processes"]


class Choice(ViewTest):
    def test_the_name_chooses_and_a_report_may_be_several(self):
        names = ["r.json", "r.html", "r.sarif", "r.junit.xml", "r.perfetto-trace", "r.snapshot.pickle"]
        self.reports(*names)
        self.assertTrue(self.read("r.html").startswith("<!doctype html>"))
        self.validate(json.loads(self.read("r.json")))
        for name in names[1:]:
            again = self.path("again-" + name)
            result = self.cuvmm("view", self.path("r.json"), "-o", again)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.read("again-" + name, "rb"), self.read(name, "rb"), name)

    def test_another_name_is_refused_before_the_program_runs(self):
        mark = self.path("ran")
        result = self.run_("--emulate", "--report", self.path("r.xml"), "--", "touch", mark)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("its name must end in .json, .html, .sarif, .junit.xml, .perfetto-trace or .snapshot.pickle",
                      result.stderr)
        self.assertFalse(os.path.exists(mark))
        self.reports("r.json")
        result = self.cuvmm("view", self.path("r.json"), "-o", self.path("r.pdf"))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("its name must end in", result.stderr)

    def test_what_is_no_report_is_refused(self):
        for text in ("", "{}", "[1]", '{"schema": 2}', "\xff"):
            result = self.cuvmm("view", self.path("bad.json", text), "-o", self.path("out.html"))
            self.assertEqual(result.returncode, 2, text)
            self.assertIn("bad.json", result.stderr)
        result = self.cuvmm("view", self.path("missing.json"), "-o", self.path("out.html"))
        self.assertIn("No such file", result.stderr)

    def test_a_format_that_needs_a_timeline_says_so(self):
        self.reports("r.json")
        self.assertNotIn("timeline", json.loads(self.read("r.json")))
        result = self.cuvmm("view", self.path("r.json"), "-o", self.path("r.perfetto-trace"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--timeline", result.stderr)
        self.assertEqual(self.cuvmm("view", self.path("r.json"), "-o", self.path("r.html")).returncode, 0)


class TimelineInReport(ViewTest):
    def test_all_objects_of_a_run(self):
        self.reports("report.json", more=("--timeline",))
        report, processes = self.timeline()
        self.validate(json.loads(self.read("report.json")))
        self.assertEqual(len(processes), 1)
        process = processes[0]
        counts = {}
        for one in process["objects"]:
            counts[one["kind"]] = counts.get(one["kind"], 0) + 1
        self.assertEqual(counts, KINDS)
        by_kind = lambda kind: [one for one in process["objects"] if one["kind"] == kind]  # noqa: E731
        handles = {one["value"]: one for one in by_kind("allocation")}
        for mapping in by_kind("mapping"):
            self.assertIn(mapping["handle"], handles)
            self.assertGreaterEqual(mapping["begin_ns"], handles[mapping["handle"]]["begin_ns"])
        first, second = by_kind("mapping")
        self.assertEqual(first["end_call"], 0)
        self.assertGreater(second["end_ns"], second["begin_ns"])
        self.assertEqual([one["device"] for one in by_kind("allocation")], [0, 1])
        self.assertEqual(len(process["access"]), 1)
        self.assertEqual(process["access"][0][5:], ["device0", 3])
        self.assertEqual(process["peak"]["bytes"], 5 << 20)
        self.assertIn(str(by_kind("reservation")[0]["stack"]), process["stacks"])
        # The numbers of calls are those of the findings.
        finding = next(one for one in report["findings"] if one["rule"] == "cuMemMap-offset-zero")
        made = {one["made_by_call"] for one in finding["objects"]}
        self.assertTrue(made <= {one["begin_call"] for one in process["objects"]}, made)

    def test_external_memory_and_multicast_objects(self):
        program = ("init()\nh0 = cuMemCreate(4M, device=0, handle_types=posix_fd)\n"
                   "fd0 = cuMemExportToShareableHandle(h0, posix_fd)\n"
                   "m0 = cuImportExternalMemory({type=opaque_fd, fd=fd0, size=4M})\n"
                   "p0 = cuExternalMemoryGetMappedBuffer(m0, {offset=2M, size=2M})\n"
                   "q0 = cuExternalMemoryGetMappedBuffer(m0, {offset=0, size=4M})\n"
                   "cuMemFree(p0)\n"
                   "t0 = cuMulticastCreate({numDevices=2, size=4M})\n"
                   "cuMemFree(q0)\ncuDestroyExternalMemory(m0)\ncuMemRelease(t0)\ncuMemRelease(h0)\n")
        self.reports("report.json", "r.perfetto-trace", "r.html", program=program, more=("--timeline",))
        _, processes = self.timeline()
        objects = processes[0]["objects"]
        sizes = {(one["kind"], one["size"] >> 20) for one in objects}
        self.assertEqual(sizes, {("allocation", 4), ("export", 4), ("external memory", 4), ("external buffer", 2),
                                 ("external buffer", 4), ("multicast object", 4)})
        ended = {one["kind"]: one["end_call"] for one in objects if one["kind"] != "export"}
        self.assertTrue(all(ended.values()), ended)
        buffer = next(one for one in objects if one["kind"] == "external buffer")
        self.assertEqual(buffer["offset"], 2 << 20)
        # Another process owns the memory, so no byte of it counts for this process.
        self.assertEqual(processes[0]["peak"]["bytes"], 4 << 20)
        self.assertIn(b"external memory", self.read("r.perfetto-trace", "rb"))

    def test_memory_that_is_only_bound_to_a_multicast_object(self):
        program = ("init()\nm0 = cuMulticastCreate({numDevices=2, size=8M})\n"
                   "cuMulticastAddDevice(m0, 0)\ncuMulticastAddDevice(m0, 1)\n"
                   "h0 = cuMemCreate(4M, device=0)\nh1 = cuMemCreate(4M, device=1)\n"
                   "r0 = cuMemAddressReserve(4M)\ncuMemMap(r0, 4M, h1)\n"
                   "cuMulticastBindMem(m0, 4M, h0, 0, 4M)\ncuMulticastBindAddr(m0, 0, r0, 4M)\n"
                   "cuMulticastUnbind(m0, 1, 0, 4M)\ncuMemRelease(m0)\n"
                   "cuMemUnmap(r0, 4M)\ncuMemRelease(h1)\ncuMemRelease(h0)\n")
        self.reports("report.json", "r.perfetto-trace", "r.html", program=program, more=("--timeline",))
        self.validate(json.loads(self.read("report.json")))
        report, processes = self.timeline()
        self.assertEqual(report["findings"], [])
        objects = processes[0]["objects"]
        memory = {one["device"]: one["value"] for one in objects if one["kind"] == "allocation"}
        team = next(one for one in objects if one["kind"] == "multicast object")
        first, second = [one for one in objects if one["kind"] == "multicast binding"]
        for one, device, offset in ((first, 0, 4 << 20), (second, 1, 0)):
            self.assertEqual((one["value"], one["handle"], one["device"], one["offset"], one["size"]),
                             (team["value"], memory[device], device, offset, 4 << 20))
        # The program unbound one binding; the other ended with the object.
        self.assertLess(second["end_call"], team["end_call"])
        self.assertEqual(first["end_call"], team["end_call"])
        # The memory is counted already.
        self.assertEqual(processes[0]["peak"]["bytes"], 8 << 20)
        self.assertIn(b"multicast binding", self.read("r.perfetto-trace", "rb"))
        result = self.cuvmm("memory", self.path("report.json"), "--at", f"{second['begin_ns']}ns")
        self.assertIn("of that, of cuMemCreate: 4 MiB mapped, 4 MiB only bound to a multicast object, "
                      "0 bytes kept by handles alone\n", result.stdout)

    def test_memory_that_is_only_in_a_sparse_array(self):
        # The emulator has no sparse arrays, so another driver takes these calls.
        driver = self.compiled("libsparse.so", SPARSE_DRIVER, "-shared", "-fPIC")
        headers = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
        program = self.compiled("sparse", SPARSE, "-I" + headers, "-Wl,--no-as-needed", driver)
        path = self.path("report.json")
        result = self.run_("--driver", driver, "--timeline", "--report", path, "--", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        report, processes = self.timeline()
        # Once the array is destroyed, nothing uses the memory.
        self.assertEqual([one["rule"] for one in report["findings"]], ["cuMemCreate-released"])
        objects = processes[0]["objects"]
        memory = next(one for one in objects if one["kind"] == "allocation")
        first, second = [one for one in objects if one["kind"] == "sparse mapping"]
        for one, offset in ((first, 0), (second, 65536)):
            self.assertEqual((one["value"], one["handle"], one["device"], one["offset"], one["size"]),
                             (0x7000, memory["value"], 0, offset, 128 << 10))
        self.assertGreater(first["end_call"], first["begin_call"])
        self.assertGreater(second["end_call"], first["end_call"])
        result = self.cuvmm("memory", path, "--at", f"{second['begin_ns']}ns")
        self.assertIn("0 bytes mapped, 2 MiB only in a sparse array, 0 bytes kept by handles alone", result.stdout)
        result = self.cuvmm("memory", path, "--at", f"{second['end_ns'] + 1}ns")
        self.assertIn("0 bytes mapped, 2 MiB kept by handles alone", result.stdout)

    def test_children_of_fork_have_their_own(self):
        program = "init()\nr0 = cuMemAddressReserve(2M)\n@p1 init()\n@p1 r1 = cuMemAddressReserve(4M)\n"
        self.reports("report.json", program=program, more=("--timeline",))
        _, processes = self.timeline()
        self.assertEqual(sorted(one["size"] for process in processes for one in process["objects"]),
                         [2 << 20, 4 << 20])
        self.assertEqual(len({process["pid"] for process in processes}), 2)

    def test_a_killed_process_leaves_its_own(self):
        source = ("import ctypes, os, signal, sys\n"
                  "cuda = ctypes.CDLL('libcuda.so.1')\n"
                  "cuda.cuInit(0)\n"
                  "address = ctypes.c_uint64()\n"
                  "cuda.cuMemAddressReserve(ctypes.byref(address), ctypes.c_size_t(2 << 20), ctypes.c_size_t(0),"
                  " ctypes.c_uint64(0), ctypes.c_uint64(0))\n"
                  "os.kill(os.getpid(), signal.SIGKILL)\n")
        path = self.path("report.json")
        result = self.run_("--emulate", "--timeline", "--report", path, "--", sys.executable, "-c", source)
        self.assertEqual(result.returncode, 128 + 9, result.stderr)
        report, processes = self.timeline()
        self.assertEqual([one["kind"] for one in processes[0]["objects"]], ["reservation"])
        self.assertTrue(any("has no stacks" in note for note in report["notes"]), report["notes"])

    def test_a_damaged_timeline_is_refused(self):
        self.reports("report.json", more=("--timeline",))
        report = json.loads(self.read("report.json"))
        report["timeline"]["processes"][0]["objects"][0][0] = "<b>"
        self.path("bad.json", json.dumps(report))
        for suffix in ("html", "perfetto-trace", "snapshot.pickle"):
            result = self.cuvmm("view", self.path("bad.json"), "-o", self.path("out." + suffix))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn('"timeline": objects: expected whole numbers', result.stderr)


class Sarif(ViewTest):
    def result(self, rule, name="r.sarif"):
        return next(one for one in json.loads(self.read(name))["runs"][0]["results"] if one["ruleId"] == rule)

    def test_what_it_holds(self):
        self.reports("r.sarif", "r.json")
        log = json.loads(self.read("r.sarif"))
        self.assertEqual(log["version"], "2.1.0")
        run = log["runs"][0]
        self.assertEqual(len(run["results"]), len(json.loads(self.read("r.json"))["findings"]))
        one = self.result("cuMemMap-offset-zero")
        self.assertEqual(one["level"], "error")
        rule = run["tool"]["driver"]["rules"][one["ruleIndex"]]
        self.assertEqual(rule["id"], one["ruleId"])
        self.assertNotIn("helpUri", rule)  # this build has no CUVMM_SITE
        self.assertTrue(rule["help"]["markdown"].startswith(f"## <a id=\"{rule['id']}\"></a>"), rule["help"]["markdown"])
        self.assertNotIn("docs/rules/", rule["help"]["text"])  # readers of SARIF have no such file
        self.assertIn("A program that breaks it", rule["help"]["markdown"])
        [invocation] = run["invocations"]
        self.assertTrue(invocation["arguments"])
        self.assertRegex(invocation["startTimeUtc"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(one["partialFingerprints"]["cuvmmSite/v1"], "^[0-9a-f]{16}$")
        self.assertTrue(one["locations"][0]["logicalLocations"][0]["fullyQualifiedName"])
        self.assertTrue(any("was made here" in place["message"]["text"] for place in one["relatedLocations"]))
        self.assertNotIn("baselineState", one)

    def test_another_reader_takes_it(self):
        sarif = reader(self, "sarif_pydantic")
        self.reports("r.sarif")
        log = sarif.Sarif.model_validate_json(self.read("r.sarif"))
        self.assertEqual(log.runs[0].tool.driver.name, "cuvmm")
        self.assertTrue(log.runs[0].results)

    def test_fingerprints_and_the_baseline(self):
        self.reports("old.json")
        self.reports("new.json", program=PROGRAM + "cuMemAddressFree(r0, 2M)  # CUDA_ERROR_INVALID_VALUE\n")
        result = self.cuvmm("view", self.path("new.json"), "--baseline", self.path("old.json"), "-o", self.path("r.sarif"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.result("cuMemMap-offset-zero")["baselineState"], "unchanged")
        self.assertEqual(self.result("cuMemAddressFree-exact")["baselineState"], "new")
        # With the reports exchanged, one finding is absent.
        self.cuvmm("view", self.path("old.json"), "--baseline", self.path("new.json"), "-o", self.path("r.sarif"))
        self.assertEqual(self.result("cuMemAddressFree-exact")["baselineState"], "absent")
        if (sarif := reader(self, "sarif_pydantic")) is not None:
            self.assertTrue(sarif.Sarif.model_validate_json(self.read("r.sarif")).runs[0].results)


class Junit(ViewTest):
    def test_another_reader_takes_it(self):
        junitparser = reader(self, "junitparser")
        self.reports("r.junit.xml")
        suites = junitparser.JUnitXml.fromfile(self.path("r.junit.xml"))
        cases = [case for suite in suites for case in suite]
        failed = [case for case in cases if any(isinstance(one, junitparser.Failure) for one in case.result)]
        self.assertEqual(suites.tests, len(cases))
        self.assertEqual(suites.failures, len(failed))
        self.assertTrue(any(case.name.startswith("cuMemMap-offset-zero") for case in failed))

    def test_a_good_run_is_one_test_that_passes(self):
        self.reports("r.junit.xml", program=cli_test.LEGAL)
        root = xml.etree.ElementTree.fromstring(self.read("r.junit.xml"))
        self.assertEqual((root.get("tests"), root.get("failures")), ("1", "0"))


class Perfetto(ViewTest):
    def test_another_reader_takes_it(self):
        reader(self, "perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        self.reports("report.json", "r.perfetto-trace")
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.read("r.perfetto-trace", "rb"))
        self.assertEqual(unknown_fields(trace), [])
        tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet
                  if packet.HasField("track_descriptor")}
        events = [(packet.timestamp, packet.track_event) for packet in trace.packet if packet.HasField("track_event")]
        kinds = perfetto_trace_pb2.TrackEvent
        _, processes = self.timeline()
        self.assertEqual([(one.process.pid, one.process.process_name) for one in tracks.values() if one.HasField("process")],
                         [(processes[0]["pid"], processes[0]["program"])])
        begins = [event for _, event in events if event.type == kinds.TYPE_SLICE_BEGIN]
        self.assertEqual(len(begins), sum(KINDS.values()))
        self.assertEqual(len([1 for _, event in events if event.type == kinds.TYPE_SLICE_END]), len(begins))
        for _, event in events:
            self.assertIn(event.track_uuid, tracks)
        counters = {tracks[event.track_uuid].name for _, event in events if event.type == kinds.TYPE_COUNTER}
        self.assertEqual(counters, {"Bytes mapped", "Bytes of physical memory", "Bytes reserved"})
        # Memory and its mappings have one colour.
        colours = {event.name.split(" ")[0]: set() for event in begins}
        for event in begins:
            colours[event.name.split(" ")[0]].add(event.correlation_id_str)
        self.assertEqual(colours["mapping"], colours["allocation"])
        self.assertEqual(len(colours["allocation"]), KINDS["allocation"])
        # Stacks are texts that several events share.
        texts = {text.iid: text.str for packet in trace.packet for text in packet.interned_data.debug_annotation_string_values}
        stacks = [one.string_value_iid for event in begins for one in event.debug_annotations if one.name == "stack"]
        self.assertEqual(len(stacks), len(begins))
        self.assertTrue(set(stacks) <= set(texts) and all(texts.values()))
        # The finding's flows lead to slices of its objects.
        mark = next(event for _, event in events if event.type == kinds.TYPE_INSTANT and "offset-zero" in event.name)
        self.assertTrue(mark.flow_ids)
        starts = {flow for event in begins for flow in event.flow_ids}
        self.assertTrue(set(mark.flow_ids) <= starts)
        # The clock is the machine's since boot, tied to that of the calendar.
        start = processes[0]["start_ns"]
        self.assertTrue(all(start <= at <= start + processes[0]["end_ns"] for at, _ in events))
        clocks = next(packet.clock_snapshot for packet in trace.packet if packet.HasField("clock_snapshot"))
        self.assertEqual({one.clock_id: one.timestamp for one in clocks.clocks}, {6: start, 1: processes[0]["unix_ns"]})

    def test_slices_of_a_track_lie_in_one_another(self):
        reader(self, "perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        self.reports("r.perfetto-trace")
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.read("r.perfetto-trace", "rb"))
        depth = {}
        for packet in sorted((one for one in trace.packet if one.HasField("track_event")), key=lambda one: one.timestamp):
            track, kind = packet.track_event.track_uuid, packet.track_event.type
            depth[track] = depth.get(track, 0) + {1: 1, 2: -1}.get(kind, 0)
            self.assertIn(depth[track], (0, 1))


    def test_a_finding_leads_to_what_its_call_ended(self):
        reader(self, "perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        self.reports("r.perfetto-trace", program=EARLY_UNMAP, more=("--streams=late",))
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.read("r.perfetto-trace", "rb"))
        events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
        mark = next(event for event in events if "cuMemUnmap-idle" in event.name)
        ended = [event.name for event in events
                 if event is not mark and set(event.flow_ids) & set(mark.flow_ids)]
        self.assertEqual([name.split(" ")[0] for name in ended], ["mapping"])

    def test_many_reservations_lie_by_kind(self):
        reader(self, "perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        for count, own in ((256, True), (257, False)):
            lines = [f"r{i} = cuMemAddressReserve(2M)" for i in range(count)]
            lines += ["h0 = cuMemCreate(2M, device=0)", "cuMemMap(r0, 2M, h0)"]
            self.reports("r.perfetto-trace", program="init()\n" + "\n".join(lines) + "\n")
            trace = perfetto_trace_pb2.Trace()
            trace.ParseFromString(self.read("r.perfetto-trace", "rb"))
            names = [packet.track_descriptor.name for packet in trace.packet if packet.HasField("track_descriptor")]
            self.assertEqual(sum(name.startswith("reservation 0x") for name in names), count if own else 0)
            self.assertEqual(names.count("mappings"), 1 if own else 0)
            self.assertEqual(names.count("mapping"), 0 if own else 1)


def unknown_fields(message):
    """The paths of fields that the schema lacks, in a message and its nested messages."""
    from google.protobuf import unknown_fields as unknown
    found = [f"{message.DESCRIPTOR.name}.{one.field_number}" for one in unknown.UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                found += unknown_fields(one)
    return found


class Snapshot(ViewTest):
    def test_python_takes_it(self):
        self.reports("r.snapshot.pickle")
        snapshot = pickle.loads(self.read("r.snapshot.pickle", "rb"))
        self.assertEqual(set(snapshot), {"segments", "device_traces", "allocator_settings"})
        # One mapping of 2 MiB lives at the end.
        self.assertEqual([(one["device"], one["total_size"], len(one["blocks"])) for one in snapshot["segments"]],
                         [(0, 2 << 20, 1)])
        self.assertEqual(snapshot["segments"][0]["address"], snapshot["segments"][0]["blocks"][0]["address"])
        actions = [[event["action"] for event in trace] for trace in snapshot["device_traces"]]
        self.assertEqual(actions[1], ["segment_map", "alloc", "free_requested", "free_completed", "segment_unmap"])
        self.assertEqual(actions[0].count("segment_alloc"), 1)
        for trace in snapshot["device_traces"]:
            self.assertEqual([one["time_us"] for one in trace], sorted(one["time_us"] for one in trace))
            for event in trace:
                self.assertTrue(event["frames"])
                for frame in event["frames"]:
                    self.assertEqual(set(frame), {"name", "filename", "line"})

    def test_what_the_viewer_says_above_the_stack(self):
        self.reports("r.snapshot.pickle", "r.json", program=EARLY_UNMAP, more=("--streams=late",))
        report = json.loads(self.read("r.json"))
        finding = next(one for one in report["findings"] if one["rule"] == "cuMemUnmap-idle")
        trace = pickle.loads(self.read("r.snapshot.pickle", "rb"))["device_traces"][0]
        free = next(event for event in trace if event["action"] == "free_completed")
        self.assertEqual(free["user_metadata"].split("\n")[0], f"call {finding['call_index']}")
        self.assertIn(f"undefined cuMemUnmap-idle, call {finding['call_index']}: {finding['message']}", free["user_metadata"])

    def test_a_call_without_a_stack(self):
        self.reports("r.json", more=("--timeline",))
        report = json.loads(self.read("r.json"))
        report["timeline"]["processes"][0]["stacks"] = {}
        self.path("bare.json", json.dumps(report))
        self.cuvmm("view", self.path("bare.json"), "-o", self.path("r.snapshot.pickle"))
        snapshot = pickle.loads(self.read("r.snapshot.pickle", "rb"))
        frames = [event["frames"] for trace in snapshot["device_traces"] for event in trace]
        self.assertEqual({(one["filename"], one["line"], one["name"]) for all_ in frames for one in all_},
                         {("cuvmm", 0, "this report has no stack of the call")})


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
