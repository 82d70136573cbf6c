// SPDX-License-Identifier: Apache-2.0
// Grows a buffer in steps, checks that its contents and its address stay, shrinks it, grows it
// again.
//
// expects: nothing
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <vector>

#include "examples/growable_buffer/growable_buffer.h"

namespace {

bool ok(const char* what, CUresult result) {
  if (result == CUDA_SUCCESS) return true;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", what, name != nullptr ? name : "unknown error");
  return false;
}

/// Appends `numbers` at byte `at`, and reads the buffer back up to their end.
bool append_and_check(const GrowableBuffer& buffer, std::size_t at, std::vector<int>* numbers,
                      int count) {
  const std::size_t first = numbers->size();
  numbers->resize(first + static_cast<std::size_t>(count));
  std::iota(numbers->begin() + static_cast<std::ptrdiff_t>(first), numbers->end(),
            static_cast<int>(first));
  std::vector<int> back(numbers->size());
  return ok("copy to the device", cuMemcpyHtoD(buffer.address() + at, numbers->data() + first,
                                               static_cast<std::size_t>(count) * sizeof(int))) &&
         // One copy across all mappings, because for the device they are one range.
         ok("copy from the device",
            cuMemcpyDtoH(back.data(), buffer.address(), back.size() * sizeof(int))) &&
         back == *numbers;
}

int run() {
  constexpr int kCount = 1 << 20;  // 4 MiB of numbers for each step
  constexpr std::size_t kStep = kCount * sizeof(int);
  GrowableBuffer buffer(0);
  if (!ok("reserve", buffer.reserve(std::size_t{1} << 30))) return 1;
  const CUdeviceptr address = buffer.address();
  std::vector<int> numbers;
  for (std::size_t step = 1; step <= 4; ++step) {
    if (!ok("grow", buffer.grow(step * kStep))) return 1;
    if (!append_and_check(buffer, (step - 1) * kStep, &numbers, kCount)) return 1;
    std::printf("%zu MiB at 0x%" PRIx64 "\n", buffer.size() >> 20,
                static_cast<std::uint64_t>(buffer.address()));
  }
  if (!ok("shrink", buffer.shrink(kStep))) return 1;
  numbers.resize(kCount);
  if (!ok("grow again", buffer.grow(3 * kStep))) return 1;
  if (!append_and_check(buffer, kStep, &numbers, kCount)) return 1;
  std::printf("%zu MiB after shrinking and growing, %s\n", buffer.size() >> 20,
              buffer.address() == address ? "at the same address" : "MOVED");
  return buffer.address() == address ? 0 : 1;
}

}  // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (!ok("cuInit", cuInit(0)) || !ok("cuDeviceGet", cuDeviceGet(&device, 0)) ||
      !ok("primary context", cuDevicePrimaryCtxRetain(&context, device)) ||
      !ok("cuCtxSetCurrent", cuCtxSetCurrent(context))) {
    return 1;
  }
  const int status = run();
  cuDevicePrimaryCtxRelease(device);
  return status;
}
