// SPDX-License-Identifier: Apache-2.0
// refused CASE: makes calls that a driver refuses, and ends with 1, as a program does whose error
// nobody expected. refused legal CASE: makes the repair in its place, and ends with 0 if every call
// succeeds. refused_test.py has the findings that belong to each case.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

int g_wrong = 0;

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s answered %d\n", what, static_cast<int>(result));
  g_wrong = 1;
}
#define MUST(call) must((call), #call)

// Functions that the library lacks which this program is linked with.
template <class Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}
CUresult exchange_mode(CUstreamCaptureMode* mode) {
  return function<CUresult (*)(CUstreamCaptureMode*)>("cuThreadExchangeStreamCaptureMode")(mode);
}
CUresult get_flags(CUstream stream, unsigned* flags) {
  return function<CUresult (*)(CUstream, unsigned*)>("cuStreamGetFlags")(stream, flags);
}

CUresult get_by_bus_id(CUdevice* out, const char* id) {
  return function<CUresult (*)(CUdevice*, const char*)>("cuDeviceGetByPCIBusId")(out, id);
}
CUresult get_bus_id(char* out, int size, CUdevice device) {
  return function<CUresult (*)(char*, int, CUdevice)>("cuDeviceGetPCIBusId")(out, size, device);
}
CUresult get_function(CUfunction* out, CUmodule module, const char* name) {
  using Get = CUresult (*)(CUfunction*, CUmodule, const char*);
  return function<Get>("cuModuleGetFunction")(out, module, name);
}

constexpr CUdevice kDevice = 0;
CUcontext g_context = nullptr;

CUstream made_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, flags));
  return stream;
}
CUevent made_event(unsigned flags = 0) {
  CUevent event = nullptr;
  MUST(cuEventCreate(&event, flags));
  return event;
}

// A stream that captures in some mode.
struct Capturing {
  explicit Capturing(CUstreamCaptureMode mode) { MUST(cuStreamBeginCapture(stream, mode)); }
  CUgraph end() {
    CUgraph graph = nullptr;
    MUST(cuStreamEndCapture(stream, &graph));
    return graph;
  }
  /// Another stream that joins.
  CUstream join() {
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamWaitEvent(other, event, 0));
    return other;
  }
  CUstream stream = made_stream(), other = made_stream();
  CUevent event = made_event(CU_EVENT_DISABLE_TIMING);
};
Capturing relaxed() { return Capturing(CU_STREAM_CAPTURE_MODE_RELAXED); }

void ignored(CUresult) {}
template <class Call>
void refused(bool legal, Call call) {
  if (!legal) ignored(call());
}

using Case = std::function<void(bool legal)>;

void launch(Capturing& capture) {
  CUgraph graph = capture.end();
  CUgraphExec exec = nullptr;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, capture.stream));
  MUST(cuStreamSynchronize(capture.stream));
}

// --- Calls that no capture mode permits; the repair is to end the capture first.

void synchronize(bool legal) {
  Capturing capture = relaxed();
  refused(legal, [&] { return cuStreamSynchronize(capture.stream); });
  if (legal) launch(capture);
}
void query(bool legal) {
  Capturing capture = relaxed();
  refused(legal, [&] { return cuStreamQuery(capture.stream); });
  if (!legal) return;
  capture.end();
  MUST(cuStreamQuery(capture.stream));
}
void query_joined(bool legal) {
  Capturing capture = relaxed();
  CUstream joined = capture.join();
  refused(legal, [&] { return cuStreamQuery(joined); });
  if (!legal) return;
  MUST(cuEventRecord(capture.event, joined));
  MUST(cuStreamWaitEvent(capture.stream, capture.event, 0));
  capture.end();
  MUST(cuStreamQuery(joined));
}
void context(bool legal) {
  Capturing capture = relaxed();
  refused(legal, [] { return cuCtxSynchronize(); });
  if (!legal) return;
  // The wait that the repair names for work that is not captured.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  MUST(exchange_mode(&mode));
  MUST(cuStreamSynchronize(made_stream()));
  capture.end();
  MUST(cuCtxSynchronize());
}
void flags(bool legal) {
  Capturing capture = relaxed();
  unsigned value = 0;
  refused(legal, [&] { return get_flags(capture.stream, &value); });
  if (!legal) return;
  CUstreamCaptureStatus status{};
  MUST(cuStreamIsCapturing(capture.stream, &status));
  capture.end();
  MUST(get_flags(capture.stream, &value));
}
void event(bool legal) {
  Capturing capture = relaxed();
  MUST(cuEventRecord(capture.event, capture.stream));
  refused(legal, [&] { return cuEventSynchronize(capture.event); });
  if (!legal) return;
  launch(capture);
  MUST(cuEventRecord(capture.event, capture.stream));
  MUST(cuEventSynchronize(capture.event));
}
void event_after(bool legal) {
  Capturing capture = relaxed();
  MUST(cuEventRecord(capture.event, capture.stream));
  capture.end();
  refused(legal, [&] { return cuEventQuery(capture.event); });
  if (!legal) return;
  MUST(cuEventRecord(capture.event, capture.stream));
  MUST(cuEventQuery(capture.event));
}
void CUDA_CB nothing(CUstream, CUresult, void*) {}
void callback(bool legal) {
  Capturing capture = relaxed();
  refused(legal, [&] { return cuStreamAddCallback(capture.stream, nothing, nullptr, 0); });
  if (legal)
    MUST(cuLaunchHostFunc(
        capture.stream, [](void*) {}, nullptr));
  if (legal) launch(capture);
}
void launch_in_capture(bool legal) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  Capturing capture = relaxed();
  refused(legal, [&] { return cuGraphLaunch(exec, capture.stream); });
  if (!legal) return;
  capture.end();
  MUST(cuGraphLaunch(exec, capture.stream));
}
void capture_default(bool legal) {
  refused(legal,
          [] { return cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED); });
  if (legal) relaxed().end();
}

// --- Calls that the mode of a capture forbids; the repair is another mode.

void allocate(bool legal) {
  Capturing capture(legal ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUdeviceptr memory = 0;
  refused(legal, [&] { return cuMemAlloc(&memory, 4096); });
  if (legal) MUST(cuMemAlloc(&memory, 4096));
  if (legal) capture.end();
}
void other_stream(bool legal) {
  CUstream idle = made_stream();
  Capturing capture(legal ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL);
  refused(legal, [&] { return cuStreamSynchronize(idle); });
  if (legal) MUST(cuStreamSynchronize(idle));
  if (legal) capture.end();
}

// --- Captures that end badly

void unjoined(bool legal) {
  Capturing capture = relaxed();
  CUstream joined = capture.join();
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, 4096));
  MUST(cuMemsetD8Async(memory, 0, 4096, joined));
  CUgraph graph = nullptr;
  refused(legal, [&] { return cuStreamEndCapture(capture.stream, &graph); });
  if (!legal) return;
  MUST(cuEventRecord(capture.event, joined));
  MUST(cuStreamWaitEvent(capture.stream, capture.event, 0));
  capture.end();
}
void isolated(bool legal) {
  CUevent outside = made_event(CU_EVENT_DISABLE_TIMING);
  MUST(cuEventRecord(outside, made_stream()));
  if (legal) MUST(cuStreamWaitEvent(made_stream(), outside, 0));
  Capturing capture = relaxed();
  refused(legal, [&] { return cuStreamWaitEvent(capture.stream, outside, 0); });
  if (legal) capture.end();
}
void twice(bool legal) {
  Capturing capture = relaxed();
  if (legal) capture.end();
  const auto begin = [&] {
    return cuStreamBeginCapture(capture.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  refused(legal, begin);
  if (legal) MUST(begin());
}

// --- Arguments that are wrong by themselves

void device(bool legal) {
  CUcontext out = nullptr;
  refused(legal, [&] { return cuDevicePrimaryCtxRetain(&out, 99); });
  if (legal) MUST(cuDevicePrimaryCtxRetain(&out, kDevice));
}
void device_name(bool legal) {
  char name[64];
  refused(legal, [&] { return cuDeviceGetName(name, sizeof name, -1); });
  if (legal) MUST(cuDeviceGetName(name, sizeof name, kDevice));
}
void ordinal(bool legal) {
  CUdevice out = 0;
  refused(legal, [&] { return cuDeviceGet(&out, 1000); });
  if (legal) MUST(cuDeviceGet(&out, kDevice));
}
void peer(bool legal) {
  CUcontext second = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  refused(legal, [] { return cuCtxEnablePeerAccess(nullptr, 0); });
  if (legal) MUST(cuCtxEnablePeerAccess(second, 0));
}
void peer_flags(bool legal) {
  CUcontext second = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  refused(legal, [&] { return cuCtxEnablePeerAccess(second, 1); });
  if (legal) MUST(cuCtxEnablePeerAccess(second, 0));
}
void from_null(bool legal) {
  static char host[64];
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, sizeof host));
  refused(legal, [] { return cuMemcpyDtoH(host, 0, sizeof host); });
  if (legal) MUST(cuMemcpyDtoH(host, memory, sizeof host));
}
void stream_flags(bool legal) {
  CUstream out = nullptr;
  refused(legal, [&] { return cuStreamCreate(&out, 0x40); });
  if (legal) MUST(cuStreamCreate(&out, CU_STREAM_NON_BLOCKING));
}
void event_flags(bool legal) {
  CUevent out = nullptr;
  refused(legal, [&] { return cuEventCreate(&out, CU_EVENT_INTERPROCESS); });
  if (legal) MUST(cuEventCreate(&out, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
}
void no_out(bool legal) {
  CUevent out = nullptr;
  refused(legal, [] { return cuEventCreate(nullptr, 0); });
  if (legal) MUST(cuEventCreate(&out, 0));
}
void null_event(bool legal) {
  refused(legal, [] { return cuEventRecord(nullptr, nullptr); });
  if (legal) MUST(cuEventRecord(made_event(), nullptr));
}
void strange_event(bool legal) {
  refused(legal, [] { return cuEventQuery(reinterpret_cast<CUevent>(std::uintptr_t{0x123450})); });
  if (legal) MUST(cuEventQuery(made_event()));
}
void elapsed(bool legal) {
  CUevent from = made_event(), to = made_event();
  float time = 0;
  MUST(cuEventRecord(from, nullptr));
  if (legal) MUST(cuEventRecord(to, nullptr));
  if (legal) MUST(cuEventSynchronize(to));
  refused(legal, [&] { return cuEventElapsedTime(&time, from, to); });
  if (legal) MUST(cuEventElapsedTime(&time, from, to));
}
void untimed(bool legal) {
  CUevent from = made_event(legal ? 0 : CU_EVENT_DISABLE_TIMING), to = made_event();
  float time = 0;
  MUST(cuEventRecord(from, nullptr));
  MUST(cuEventRecord(to, nullptr));
  MUST(cuEventSynchronize(to));
  refused(legal, [&] { return cuEventElapsedTime(&time, from, to); });
  if (legal) MUST(cuEventElapsedTime(&time, from, to));
}
void no_context(bool legal) {
  std::size_t free = 0, total = 0;
  if (!legal) MUST(cuCtxSetCurrent(nullptr));
  refused(legal, [&] { return cuMemGetInfo(&free, &total); });
  if (legal) MUST(cuMemGetInfo(&free, &total));
}

void swapped(bool legal) {
  static char host[64];
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, sizeof host));
  const auto address = reinterpret_cast<std::uintptr_t>(&host);
  const auto* const pointer = reinterpret_cast<const void*>(memory);
  refused(legal, [&] { return cuMemcpyHtoD(address, pointer, sizeof host); });
  if (legal) MUST(cuMemcpyHtoD(memory, host, sizeof host));
}
void wild(bool legal) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, 64));
  refused(legal, [] { return cuMemsetD8(0x123456780000, 0, 64); });
  if (legal) MUST(cuMemsetD8(memory, 0, 64));
}
void bus_id(bool legal) {
  CUdevice out = 0;
  char id[64];
  refused(legal, [&] { return get_by_bus_id(&out, "9999:00:00.0"); });
  if (!legal) return;
  MUST(get_bus_id(id, sizeof id, kDevice));
  MUST(get_by_bus_id(&out, id));
}
constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
void threads(bool legal) {
  CUmodule module = nullptr;
  CUfunction nothing = nullptr;
  MUST(cuModuleLoadData(&module, kPtx));
  MUST(get_function(&nothing, module, "nothing"));
  const unsigned count = legal ? 1024 : 2048;
  const auto go = [&] {
    return cuLaunchKernel(nothing, 1, 1, 1, count, 1, 1, 0, nullptr, nullptr, nullptr);
  };
  refused(legal, go);
  if (legal) MUST(go());
}

// --- Frees, and objects of a context that has ended

void free_of_malloc(bool legal) {
  void* const memory = std::malloc(4096);
  refused(legal, [&] { return cuMemFreeHost(memory); });
  std::free(memory);
}
void free_of_variable(bool legal) {
  int variable = 0;
  refused(legal, [&] { return cuMemFree(reinterpret_cast<std::uintptr_t>(&variable)); });
}
void stream_of_context(bool legal) {
  CUstream stream = made_stream();
  if (!legal) MUST(cuDevicePrimaryCtxReset(kDevice));
  refused(legal, [&] { return cuStreamSynchronize(stream); });
  if (legal) MUST(cuStreamSynchronize(stream));
}
void memory_of_context(bool legal) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, 4096));
  if (!legal) MUST(cuDevicePrimaryCtxReset(kDevice));
  if (!legal) MUST(cuDevicePrimaryCtxRetain(&g_context, kDevice));
  if (!legal) MUST(cuCtxSetCurrent(g_context));
  refused(legal, [&] { return cuMemFree(memory); });
  if (legal) MUST(cuMemFree(memory));
}

void free_twice(bool legal) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, 4096));
  MUST(cuMemFree(memory));
  refused(legal, [&] { return cuMemFree(memory); });
}
void free_registered(bool legal) {
  void* const memory = std::aligned_alloc(4096, 4096);
  MUST(cuMemHostRegister(memory, 4096, 0));
  refused(legal, [&] { return cuMemFreeHost(memory); });
  if (legal) MUST(cuMemHostUnregister(memory));
  if (legal) std::free(memory);
}
void free_empty_reservation(bool legal) {
  constexpr std::size_t kSize = std::size_t{2} << 20;
  CUdeviceptr range = 0;
  MUST(cuMemAddressReserve(&range, kSize, 0, 0, 0));
  refused(legal, [&] { return cuMemFree(range); });
  if (legal) MUST(cuMemAddressFree(range, kSize));
}
void free_in_capture(bool legal) {
  CUstream stream = made_stream();
  CUdeviceptr memory = 0;
  MUST(cuMemAllocAsync(&memory, 4096, stream));
  MUST(cuStreamSynchronize(stream));
  Capturing capture = relaxed();
  refused(legal, [&] { return cuMemFreeAsync(memory, capture.stream); });
  if (legal) capture.end();
  if (legal) MUST(cuMemFreeAsync(memory, stream));
}
// The driver has no device, and main() goes on all the same.
void no_init(bool legal) {
  CUdeviceptr memory = 0;
  refused(legal, [&] { return cuMemAlloc(&memory, 4096); });
}

// A captured free that does not come behind the captured fill of another stream.
void captured_free(bool legal) {
  Capturing capture = relaxed();
  CUstream joined = capture.join();
  CUdeviceptr memory = 0;
  MUST(cuMemAllocAsync(&memory, 4096, joined));
  if (!legal) MUST(cuEventRecord(capture.event, joined));
  MUST(cuMemsetD8Async(memory, 1, 4096, joined));
  if (legal) MUST(cuEventRecord(capture.event, joined));
  MUST(cuStreamWaitEvent(capture.stream, capture.event, 0));
  MUST(cuMemFreeAsync(memory, capture.stream));
  MUST(cuEventRecord(capture.event, joined));
  MUST(cuStreamWaitEvent(capture.stream, capture.event, 0));
  CUgraph graph = capture.end();
  CUgraphExec exec = nullptr;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

const std::map<std::string, Case> kCases = {
    {"synchronize", synchronize},
    {"query", query},
    {"query-joined", query_joined},
    {"context", context},
    {"flags", flags},
    {"event", event},
    {"event-after", event_after},
    {"callback", callback},
    {"launch-in-capture", launch_in_capture},
    {"capture-default", capture_default},
    {"allocate", allocate},
    {"other-stream", other_stream},
    {"unjoined", unjoined},
    {"isolated", isolated},
    {"twice", twice},
    {"device", device},
    {"device-name", device_name},
    {"ordinal", ordinal},
    {"peer", peer},
    {"peer-flags", peer_flags},
    {"from-null", from_null},
    {"stream-flags", stream_flags},
    {"event-flags", event_flags},
    {"no-out", no_out},
    {"null-event", null_event},
    {"strange-event", strange_event},
    {"elapsed", elapsed},
    {"untimed", untimed},
    {"no-context", no_context},
    {"free-of-malloc", free_of_malloc},
    {"free-of-variable", free_of_variable},
    {"stream-of-context", stream_of_context},
    {"memory-of-context", memory_of_context},
    {"free-twice", free_twice},
    {"free-registered", free_registered},
    {"free-empty-reservation", free_empty_reservation},
    {"free-in-capture", free_in_capture},
    {"no-init", no_init},
    {"swapped", swapped},
    {"wild", wild},
    {"bus-id", bus_id},
    {"threads", threads},
    {"captured-free", captured_free},
};

}  // namespace

int main(int count, char** arguments) {
  const bool legal = count > 2 && std::strcmp(arguments[1], "legal") == 0;
  const auto found = kCases.find(count > 1 ? arguments[count - 1] : "");
  if (found == kCases.end()) return 2;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&g_context, kDevice));
  MUST(cuCtxSetCurrent(g_context));
  found->second(legal);
  return legal ? g_wrong : 1;
}
