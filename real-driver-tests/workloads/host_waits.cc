// SPDX-License-Identifier: Apache-2.0
// Tests which calls wait for work: a kernel spins for 300 ms on a stream, the program makes a call,
// and then queries the stream. One line for each question:
//
//   cuMemFree: waited (took 299.8 ms)
//   cuMemcpyDtoD: did not wait (took 0.0 ms)
//
// The answers belong into rulebook/order/host_wait.h. `host_waits TEXT` asks only the questions
// with TEXT in their name. The program uses no managed memory and no multicast; each kernel ends by
// itself. Exit code 0: all questions were asked.
#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

// Two functions, so that the program can load one while the other runs.
constexpr const char* kKernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 nanoseconds) {
  .reg .u64 %t<4>;
  .reg .pred %early;
  ld.param.u64 %t1, [nanoseconds];
  mov.u64 %t2, %globaltimer;
again:
  mov.u64 %t3, %globaltimer;
  sub.u64 %t3, %t3, %t2;
  setp.lt.u64 %early, %t3, %t1;
  @%early bra again;
  ret;
}
.visible .entry nothing() {
  ret;
}
)";
constexpr std::uint64_t kSpin = 300'000'000;  // nanoseconds
constexpr std::size_t kSmall = 64, kLarge = std::size_t{16} << 20;

void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "host_waits: %s answered %d\n", call, static_cast<int>(result));
  std::exit(2);
}
#define MUST(call) must(call, #call)

/// The objects for a question. A question that ends an object uses an object of its own.
struct World {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  CUstream blocking = nullptr, apart = nullptr, other = nullptr;
  CUevent done = nullptr;  ///< behind the kernel
  CUdeviceptr device[2] = {};
  void* pinned[2] = {};
  std::vector<char> pageable[2] = {std::vector<char>(kLarge), std::vector<char>(kLarge)};
  CUarray array = nullptr;
};

std::uint64_t number(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

void open(World& w) {
  CUdevice device = 0;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&w.context, device));
  MUST(cuCtxSetCurrent(w.context));
  MUST(cuModuleLoadData(&w.module, kKernels));
  MUST(cuModuleGetFunction(&w.spin, w.module, "spin"));
  MUST(cuStreamCreate(&w.blocking, CU_STREAM_DEFAULT));
  MUST(cuStreamCreate(&w.apart, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&w.other, CU_STREAM_NON_BLOCKING));
  MUST(cuEventCreate(&w.done, CU_EVENT_DISABLE_TIMING));
  for (CUdeviceptr& each : w.device) MUST(cuMemAlloc(&each, kLarge));
  for (void*& each : w.pinned) MUST(cuMemAllocHost(&each, kLarge));
  const CUDA_ARRAY_DESCRIPTOR shape{kSmall, 1, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  MUST(cuArrayCreate(&w.array, &shape));
}

/// Launches a kernel that keeps this stream busy.
void keep_busy(const World& w, CUstream stream, std::uint64_t nanoseconds = kSpin) {
  void* arguments[] = {&nanoseconds};
  MUST(cuLaunchKernel(w.spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  MUST(cuEventRecord(w.done, stream));
}

class Asker {
 public:
  Asker(World& world, const char* only) : w_(world), only_(only) {}

  /// Calls `prepare` before the kernel starts, and `call` while it spins on the stream.
  void ask(
      const char* name, CUstream stream, const std::function<CUresult()>& call,
      const std::function<void()>& prepare = [] {}) {
    if (only_ && !std::strstr(name, only_)) return;
    prepare();
    MUST(cuCtxSynchronize());
    keep_busy(w_, stream);
    const auto begin = std::chrono::steady_clock::now();
    const CUresult result = call();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    // A separate event, because the call may have destroyed the stream, or given it more work.
    const CUresult state = cuEventQuery(w_.done);
    const char* const text = result != CUDA_SUCCESS          ? "the call failed"
                             : state == CUDA_SUCCESS         ? "waited"
                             : state == CUDA_ERROR_NOT_READY ? "did not wait"
                                                             : "the event cannot be asked";
    std::printf("%s: %s (answered %d, took %.1f ms)\n", name, text, static_cast<int>(result),
                took.count());
    std::fflush(stdout);
    MUST(cuCtxSynchronize());
  }

 private:
  World& w_;
  const char* only_;
};

// Copies without a stream run on the legacy stream, which waits for the blocking stream.
void ask_copies(Asker& asker, World& w) {
  const CUstream s = w.blocking;
  char* const pageable = w.pageable[0].data();
  for (const std::size_t size : {kSmall, kLarge}) {
    const std::string large = size == kLarge ? ", 16 MiB" : "";
    const auto ask = [&](const std::string& name, const std::function<CUresult()>& call) {
      asker.ask((name + large).c_str(), s, call);
    };
    ask("cuMemcpyHtoD, pageable", [&] { return cuMemcpyHtoD(w.device[0], pageable, size); });
    ask("cuMemcpyHtoD, pinned", [&] { return cuMemcpyHtoD(w.device[0], w.pinned[0], size); });
    ask("cuMemcpyDtoH, pageable", [&] { return cuMemcpyDtoH(pageable, w.device[0], size); });
    ask("cuMemcpyDtoH, pinned", [&] { return cuMemcpyDtoH(w.pinned[0], w.device[0], size); });
    ask("cuMemcpyDtoD", [&] { return cuMemcpyDtoD(w.device[0], w.device[1], size); });
    ask("cuMemcpy, pageable to pageable",
        [&] { return cuMemcpy(number(w.pageable[1].data()), number(pageable), size); });
    ask("cuMemcpy, pinned to pinned",
        [&] { return cuMemcpy(number(w.pinned[1]), number(w.pinned[0]), size); });
    ask("cuMemsetD8, device", [&] { return cuMemsetD8(w.device[0], 1, size); });
    ask("cuMemsetD8, pinned", [&] { return cuMemsetD8(number(w.pinned[0]), 1, size); });
  }
  asker.ask("cuMemcpyDtoH of nothing", s, [&] { return cuMemcpyDtoH(pageable, w.device[0], 0); });
  asker.ask("cuMemcpyAtoH, pageable", s,
            [&] { return cuMemcpyAtoH(pageable, w.array, 0, kSmall); });
  asker.ask("cuMemcpyHtoA, pageable", s,
            [&] { return cuMemcpyHtoA(w.array, 0, pageable, kSmall); });
  asker.ask("cuMemcpyPeer, one context", s,
            [&] { return cuMemcpyPeer(w.device[0], w.context, w.device[1], w.context, kSmall); });
  asker.ask("cuMemcpyDtoH, pageable, behind a non-blocking stream", w.apart,
            [&] { return cuMemcpyDtoH(pageable, w.device[0], kSmall); });

  unsigned on = 1;
  const auto always = [&] {
    MUST(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, w.device[1]));
  };
  asker.ask(
      "cuMemcpyDtoD, SYNC_MEMOPS", s,
      [&] { return cuMemcpyDtoD(w.device[0], w.device[1], kSmall); }, always);
  asker.ask("cuMemsetD8, SYNC_MEMOPS", s, [&] { return cuMemsetD8(w.device[1], 1, kSmall); });
  asker.ask("cuMemcpyDtoDAsync, SYNC_MEMOPS", s,
            [&] { return cuMemcpyDtoDAsync(w.device[0], w.device[1], kSmall, s); });
  on = 0;
  always();
}

// Copies on the busy stream.
void ask_copies_on_a_stream(Asker& asker, World& w) {
  const CUstream s = w.apart;
  char* const pageable = w.pageable[0].data();
  for (const std::size_t size : {kSmall, kLarge}) {
    const std::string large = size == kLarge ? ", 16 MiB" : "";
    const auto ask = [&](const std::string& name, const std::function<CUresult()>& call) {
      asker.ask((name + large).c_str(), s, call);
    };
    ask("cuMemcpyHtoDAsync, pageable",
        [&] { return cuMemcpyHtoDAsync(w.device[0], pageable, size, s); });
    ask("cuMemcpyHtoDAsync, pinned",
        [&] { return cuMemcpyHtoDAsync(w.device[0], w.pinned[0], size, s); });
    ask("cuMemcpyDtoHAsync, pageable",
        [&] { return cuMemcpyDtoHAsync(pageable, w.device[0], size, s); });
    ask("cuMemcpyDtoHAsync, pinned",
        [&] { return cuMemcpyDtoHAsync(w.pinned[0], w.device[0], size, s); });
    ask("cuMemcpyDtoDAsync", [&] { return cuMemcpyDtoDAsync(w.device[0], w.device[1], size, s); });
    ask("cuMemcpyAsync, pageable to pageable",
        [&] { return cuMemcpyAsync(number(w.pageable[1].data()), number(pageable), size, s); });
    ask("cuMemcpyAsync, pinned to pageable",
        [&] { return cuMemcpyAsync(number(pageable), number(w.pinned[0]), size, s); });
    ask("cuMemcpyAsync, pageable to pinned",
        [&] { return cuMemcpyAsync(number(w.pinned[0]), number(pageable), size, s); });
    ask("cuMemcpyAsync, pinned to pinned",
        [&] { return cuMemcpyAsync(number(w.pinned[1]), number(w.pinned[0]), size, s); });
    ask("cuMemsetD8Async, device", [&] { return cuMemsetD8Async(w.device[0], 1, size, s); });
    ask("cuMemsetD8Async, pinned",
        [&] { return cuMemsetD8Async(number(w.pinned[0]), 1, size, s); });
  }
#if CUDA_VERSION >= 13000
  asker.ask("cuMemcpyBatchAsync, device to pageable", s, [&] {
    CUdeviceptr to = number(pageable), from = w.device[0];
    std::size_t size = kSmall, first = 0;
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &first, 1, s);
  });
#endif
}

// Calls that end memory and other objects.
void ask_ends(Asker& asker, World& w) {
  const CUstream s = w.apart;
  CUdeviceptr memory = 0;
  void* host = nullptr;
  const auto allocate = [&] { MUST(cuMemAlloc(&memory, kSmall)); };
  const auto lock = [&] { MUST(cuMemHostRegister(w.pageable[1].data(), kLarge, 0)); };
  const auto from_pool = [&] { MUST(cuMemAllocAsync(&memory, kSmall, w.other)); };
  asker.ask("cuMemAlloc", s, [&] { return cuMemAlloc(&memory, kLarge); });
  asker.ask(
      "cuMemFree", s, [&] { return cuMemFree(memory); }, allocate);
  asker.ask(
      "cuMemFree, memory of a pool", s, [&] { return cuMemFree(memory); }, from_pool);
  asker.ask(
      "cuMemFreeAsync", s, [&] { return cuMemFreeAsync(memory, w.other); }, from_pool);
  asker.ask("cuMemAllocHost", s, [&] { return cuMemAllocHost(&host, kLarge); });
  asker.ask(
      "cuMemFreeHost", s, [&] { return cuMemFreeHost(host); },
      [&] { MUST(cuMemAllocHost(&host, kSmall)); });
  asker.ask("cuMemHostRegister", s,
            [&] { return cuMemHostRegister(w.pageable[0].data(), kLarge, 0); });
  asker.ask(
      "cuMemHostUnregister", s, [&] { return cuMemHostUnregister(w.pageable[1].data()); }, lock);

  CUmemoryPool pool = nullptr;
  const auto make_pool = [&] {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    MUST(cuMemPoolCreate(&pool, &props));
  };
  asker.ask(
      "cuMemPoolTrimTo", s, [&] { return cuMemPoolTrimTo(pool, 0); }, make_pool);
  asker.ask(
      "cuMemPoolDestroy", s, [&] { return cuMemPoolDestroy(pool); }, make_pool);

  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{kSmall, 1, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  asker.ask(
      "cuArrayDestroy", s, [&] { return cuArrayDestroy(array); },
      [&] { MUST(cuArrayCreate(&array, &shape)); });
  CUevent event = nullptr;
  asker.ask(
      "cuEventDestroy", s, [&] { return cuEventDestroy(event); },
      [&] { MUST(cuEventCreate(&event, 0)); });
  CUstream stream = nullptr;
  asker.ask(
      "cuStreamDestroy, an idle stream", s, [&] { return cuStreamDestroy(stream); },
      [&] { MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)); });
  asker.ask(
      "cuStreamDestroy, a busy stream", s,
      [&] {
        // Queries the event behind the second kernel.
        keep_busy(w, stream);
        return cuStreamDestroy(stream);
      },
      [&] { MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)); });
}

void ask_mappings(Asker& asker, World& w) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t size = 0;
  MUST(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr memory = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const auto map = [&] {
    MUST(cuMemAddressReserve(&memory, size, 0, 0, 0));
    MUST(cuMemCreate(&handle, size, &prop, 0));
    MUST(cuMemMap(memory, size, 0, handle, 0));
  };
  asker.ask(
      "cuMemSetAccess", w.apart, [&] { return cuMemSetAccess(memory, size, &access, 1); }, map);
  asker.ask(
      "cuMemUnmap", w.apart, [&] { return cuMemUnmap(memory, size); }, map);
  asker.ask(
      "cuMemRelease, the last reference", w.apart, [&] { return cuMemRelease(handle); },
      [&] { MUST(cuMemCreate(&handle, size, &prop, 0)); });
}

void ask_code(Asker& asker, World& w) {
  const CUstream s = w.apart;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUfunction function = nullptr;
  const auto load = [&] { MUST(cuModuleLoadData(&module, kKernels)); };
  const auto load_library = [&] {
    MUST(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0));
  };
  asker.ask("cuModuleLoadData", s, [&] { return cuModuleLoadData(&module, kKernels); });
  asker.ask(
      "cuModuleGetFunction", s, [&] { return cuModuleGetFunction(&function, module, "nothing"); },
      load);
  asker.ask(
      "cuLaunchKernel, the first of a function", s,
      [&] { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, w.other, nullptr, nullptr); },
      [&] {
        load();
        MUST(cuModuleGetFunction(&function, module, "nothing"));
      });
  asker.ask(
      "cuFuncGetParamInfo, the first of a function", s,
      [&] {
        std::size_t offset = 0, bytes = 0;
        const CUresult answer = cuFuncGetParamInfo(function, 0, &offset, &bytes);
        return answer == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : answer;  // the stream has none
      },
      [&] {
        load();
        MUST(cuModuleGetFunction(&function, module, "nothing"));
      });
  asker.ask(
      "cuModuleUnload", s, [&] { return cuModuleUnload(module); }, load);
  asker.ask("cuLibraryLoadData", s, [&] {
    return cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
  asker.ask(
      "cuLibraryUnload", s, [&] { return cuLibraryUnload(library); }, load_library);
}

void ask_graphs_and_events(Asker& asker, World& w) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  const auto instantiate = [&] {
    std::uint64_t nanoseconds = kSpin;
    void* arguments[] = {&nanoseconds};
    MUST(cuStreamBeginCapture(w.other, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuLaunchKernel(w.spin, 1, 1, 1, 1, 1, 1, 0, w.other, arguments, nullptr));
    MUST(cuStreamEndCapture(w.other, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  };
  asker.ask(
      "cuGraphExecDestroy, in flight", w.apart,
      [&] {
        MUST(cuGraphLaunch(exec, w.other));
        MUST(cuEventRecord(w.done, w.other));
        return cuGraphExecDestroy(exec);
      },
      instantiate);
  asker.ask(
      "cuGraphInstantiateWithFlags", w.apart,
      [&] { return cuGraphInstantiateWithFlags(&exec, graph, 0); }, instantiate);
  asker.ask("cuStreamQuery", w.apart, [&] {
    const CUresult answer = cuStreamQuery(w.apart);
    return answer == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : answer;
  });
  asker.ask("cuStreamSynchronize", w.apart, [&] { return cuStreamSynchronize(w.apart); });
  asker.ask("cuEventSynchronize", w.apart, [&] { return cuEventSynchronize(w.done); });
  asker.ask("cuCtxSynchronize", w.apart, [&] { return cuCtxSynchronize(); });
  // Whether an event behind a copy that waited is done at once (--async=exact records none there).
  asker.ask("an event right behind cuMemcpyDtoHAsync, pageable", w.apart, [&] {
    MUST(cuMemcpyDtoHAsync(w.pageable[0].data(), w.device[0], kSmall, w.apart));
    MUST(cuEventRecord(w.done, w.apart));
    return CUDA_SUCCESS;
  });
}

}  // namespace

int main(int count, char** arguments) {
  World w;
  open(w);
  Asker asker(w, count > 1 ? arguments[1] : nullptr);
  asker.ask("nothing at all", w.apart, [] { return CUDA_SUCCESS; });
  ask_copies(asker, w);
  ask_copies_on_a_stream(asker, w);
  ask_ends(asker, w);
  ask_mappings(asker, w);
  ask_code(asker, w);
  ask_graphs_and_events(asker, w);
  return 0;
}
