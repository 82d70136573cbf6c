// SPDX-License-Identifier: Apache-2.0
// A program that uses memory, shares some, and cleans up, whichever call fails. Its argument names
// a mistake of the clean-up (bugs.def), and `cuvmm fail --each` must find that mistake. The program
// prints a sum and exits with 0; where a call failed, it says so on stderr and exits with 1.
// needs: an argument
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <numeric>
#include <vector>

#include "examples/fail_bank/allocator.h"

namespace bank {

namespace {

bool failed(const char* what) {
  std::fprintf(stderr, "failed: %s\n", what);
  return false;
}

// Waits for an answer of another process that does not exist.
void wait_for_peer() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait(lock, [] { return false; });
}

class Work {
 public:
  Work(Bug bug, CUdevice device) : bug_(bug), memory_(bug, device) {}

  bool run() {
    Segment* const first = memory_.allocate(2);
    if (!first && !is(Bug::kNullUsed)) return failed("the first segment");
    Segment* const second = memory_.allocate(3);
    if (!second && !is(Bug::kNullUsed)) return failed("the second segment");
    // The program does not check whether the segment exists.
    if (!copy(first->base, second->base)) return failed("a copy");
    if (!share(*first)) return failed("the sharing");
    if (!look_up(*second)) return failed("the look at a handle");
    return true;
  }

  bool clean_up() { return memory_.free_all(); }
  long sum() const { return sum_; }

 private:
  bool is(Bug bug) const { return bug_ == bug; }

  bool copy(CUdeviceptr from, CUdeviceptr to) {
    std::vector<unsigned char> sent(64), got(64);
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(1));
    bool good = cuMemcpyHtoD(from, sent.data(), sent.size()) == CUDA_SUCCESS;
    good = cuMemcpyDtoD(to, from, sent.size()) == CUDA_SUCCESS && good;
    good = cuMemcpyDtoH(got.data(), to, got.size()) == CUDA_SUCCESS && good;
    sum_ = std::accumulate(got.begin(), got.end(), 0L);
    return good || is(Bug::kCopyIgnored);
  }

  // Imports by a descriptor, as a peer would.
  bool share(const Segment& segment) {
    if (segment.plain) return true;
    int fd = -1;
    if (cuMemExportToShareableHandle(&fd, segment.handles[0],
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS) {
      if (is(Bug::kWaitsForPeer)) wait_for_peer();
      return false;
    }
    CUmemGenericAllocationHandle imported = 0;
    const CUresult result =
        cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<long>(fd)),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS) {
      if (!is(Bug::kDescriptorKept)) ::close(fd);
      return false;
    }
    ::close(fd);
    CUmemAllocationProp prop{};
    if (cuMemGetAllocationPropertiesFromHandle(&prop, imported) != CUDA_SUCCESS) {
      if (!is(Bug::kImportKept)) cuMemRelease(imported);
      return false;
    }
    return cuMemRelease(imported) == CUDA_SUCCESS;
  }

  bool look_up(const Segment& segment) {
    if (segment.plain) return true;
    CUmemGenericAllocationHandle handle = 0;
    if (cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(segment.base)) !=
        CUDA_SUCCESS) {
      return false;
    }
    unsigned long long flags = 0;
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (cuMemGetAccess(&flags, &location, segment.base) != CUDA_SUCCESS) {
      if (!is(Bug::kRetainKept)) cuMemRelease(handle);
      return false;
    }
    return cuMemRelease(handle) == CUDA_SUCCESS;
  }

  const Bug bug_;
  Allocator memory_;
  long sum_ = 0;
};

int run(Bug bug) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    std::puts("skipped: no device");
    return 77;
  }
  Work work(bug, device);
  const bool good = work.run();
  const bool clean = work.clean_up();
  cuDevicePrimaryCtxRelease(device);
  if (good && clean) std::printf("sum %ld\n", work.sum());
  if (bug == Bug::kExitsWithZero) return 0;
  return good && clean ? 0 : 1;
}

}  // namespace

}  // namespace bank

int main(int argc, char** argv) {
  const bank::Bug bug = argc == 2 ? bank::bug_of(argv[1]) : bank::Bug::kUnknown;
  if (bug == bank::Bug::kUnknown) {
    std::fprintf(stderr, "expected `none` or the name of a bug in bugs.def\n");
    return 2;
  }
  return bank::run(bug);
}
