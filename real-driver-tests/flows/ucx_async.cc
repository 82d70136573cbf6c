// SPDX-License-Identifier: Apache-2.0
// UCX's memory events and its pool of events: memory that is allocated and freed on streams and
// noted at both times, copies with an event behind each that is queried until it is done, and a
// callback of the stream. Contexts are distinguished by their ids.
//
// expects: nothing
#include <atomic>
#include <map>
#include <set>

#include "real-driver-tests/flows/flow.h"

namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr int kEvents = 8;

// The allocations: base and size, as hooks around the driver's functions would keep them.
std::map<CUdeviceptr, std::size_t> noted;

CUdeviceptr allocate(CUstream stream) {
  CUdeviceptr address = 0;
  MUST(cuMemAllocAsync(&address, kSize, stream));
  HOLD(noted.emplace(address, kSize).second);
  return address;
}

void note_freed(CUdeviceptr address) { HOLD(noted.erase(address) == 1); }

struct Copy {
  CUevent event = nullptr;
  bool busy = false;
};

// Starts copies as long as an event is free, and collects the finished copies.
void copy_all(CUdeviceptr from, CUdeviceptr to, CUstream stream) {
  std::vector<Copy> copies(kEvents);
  for (Copy& copy : copies) MUST(cuEventCreate(&copy.event, CU_EVENT_DISABLE_TIMING));
  int started = 0, done = 0;
  constexpr int kCopies = 64;
  while (done < kCopies) {
    for (Copy& copy : copies) {
      if (copy.busy && cuEventQuery(copy.event) == CUDA_SUCCESS) {
        copy.busy = false;
        ++done;
      }
      if (copy.busy || started == kCopies) continue;
      const std::size_t part = kSize / kCopies, at = part * static_cast<std::size_t>(started++);
      MUST(cuMemcpyDtoDAsync(to + at, from + at, part, stream));
      MUST(cuEventRecord(copy.event, stream));
      copy.busy = true;
    }
  }
  for (const Copy& copy : copies) SAW(CUDA_SUCCESS, cuEventDestroy(copy.event));
}

std::atomic<int> called{0};
void count(CUstream, CUresult result, void*) { called += result == CUDA_SUCCESS; }

unsigned long long id_of_current() {
  unsigned long long id = 0;
  MUST(cuCtxGetId(nullptr, &id));
  return id;
}

}  // namespace

int main() {
  bug::start();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr from = allocate(stream), to = allocate(stream);
  MUST(cuMemsetD8Async(from, 0x3c, kSize, stream));
  copy_all(from, to, stream);
  HOLD(flow::filled(to, kSize, 0x3c));
  MUST(cuStreamAddCallback(stream, count, nullptr, 0));
  MUST(cuStreamSynchronize(stream));
  HOLD(called == 1);

  // Frees on the stream, and by cuMemFree, which waits.
  note_freed(from);
  SAW(CUDA_SUCCESS, cuMemFreeAsync(from, stream));
  MUST(cuStreamSynchronize(stream));
  note_freed(to);
  SAW(CUDA_SUCCESS, cuMemFree(to));

  // Addresses come back for new memory: a noted allocation never overlaps a new one.
  for (int round = 0; round < 16; ++round) {
    const CUdeviceptr address = allocate(stream);
    note_freed(address);
    SAW(CUDA_SUCCESS, cuMemFreeAsync(address, stream));
  }
  MUST(cuStreamSynchronize(stream));

  std::set<unsigned long long> ids{id_of_current()};
  CUcontext other = nullptr;
#if CUDA_VERSION >= 13000
  CUctxCreateParams parameters = {};  // with default values
  MUST(cuCtxCreate(&other, &parameters, 0, 0));
#else
  MUST(cuCtxCreate(&other, 0, 0));
#endif
  ids.insert(id_of_current());
  CUdeviceptr plain = 0;
  MUST(cuMemAlloc(&plain, kSize));
  CUcontext of_memory = nullptr;
  MUST(cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_CONTEXT, plain));
  HOLD(of_memory == other);
  SAW(CUDA_SUCCESS, cuMemFree(plain));
  SAW(CUDA_SUCCESS, cuCtxDestroy(other));
  ids.insert(id_of_current());
  HOLD(ids.size() == 2);
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  HOLD(noted.empty());
  return bug::verdict();
}
