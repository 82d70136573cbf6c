// SPDX-License-Identifier: Apache-2.0
// A kernel on mapped memory: half of each vector lies on one device and half on another, in one
// range of addresses, and the first device may use all of it. A buffer that grows over several GPUs
// looks like this. The kernel is PTX, so that the emulator can run it as well.
//
// expects: nothing
#include <vector>

#include "examples/bugs/bug.h"

namespace {

constexpr char kernel[] = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry vector_add(
	.param .u64 .ptr .global .align 4 first,
	.param .u64 .ptr .global .align 4 second,
	.param .u64 .ptr .global .align 4 sums,
	.param .u32 count
)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<11>;

	ld.param.u32 %r1, [count];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.s32 %p1, %r5, %r1;
	@%p1 bra done;
	ld.param.u64 %rd1, [first];
	ld.param.u64 %rd2, [second];
	ld.param.u64 %rd3, [sums];
	cvta.to.global.u64 %rd4, %rd1;
	cvta.to.global.u64 %rd5, %rd2;
	cvta.to.global.u64 %rd6, %rd3;
	mul.wide.s32 %rd7, %r5, 4;
	add.s64 %rd8, %rd4, %rd7;
	add.s64 %rd9, %rd5, %rd7;
	add.s64 %rd10, %rd6, %rd7;
	ld.global.f32 %f1, [%rd8];
	ld.global.f32 %f2, [%rd9];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd10], %f3;
done:
	ret;
}
)";

// Memory of two devices, the second behind the first.
class Vector {
 public:
  explicit Vector(std::size_t half) : size_(2 * half) {
    MUST(cuMemAddressReserve(&base_, size_, 0, 0, 0));
    for (int device = 0; device < 2; ++device) {
      const CUmemAllocationProp prop = bug::memory_on(device);
      CUmemGenericAllocationHandle memory = 0;
      MUST(cuMemCreate(&memory, half, &prop, 0));
      MUST(cuMemMap(base_ + static_cast<std::size_t>(device) * half, half, 0, memory, 0));
      MUST(cuMemRelease(memory));
    }
    const CUmemAccessDesc access = bug::access_from(0);
    MUST(cuMemSetAccess(base_, size_, &access, 1));
  }
  ~Vector() {
    MUST(cuMemUnmap(base_, size_));
    MUST(cuMemAddressFree(base_, size_));
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  CUdeviceptr base() const { return base_; }

 private:
  CUdeviceptr base_ = 0;
  std::size_t size_;
};

void add_vectors(std::size_t half) {
  const std::size_t count = 2 * half / sizeof(float);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i % 1000);
  Vector first(half), second(half), sums(half);
  MUST(cuMemcpyHtoD(first.base(), numbers.data(), count * sizeof(float)));
  MUST(cuMemcpyHtoD(second.base(), numbers.data(), count * sizeof(float)));

  CUmodule module = nullptr;
  CUfunction function = nullptr;
  MUST(cuModuleLoadData(&module, kernel));
  MUST(cuModuleGetFunction(&function, module, "vector_add"));
  CUdeviceptr a = first.base(), b = second.base(), c = sums.base();
  auto n = static_cast<unsigned>(count);
  void* parameters[] = {&a, &b, &c, &n};
  constexpr unsigned kThreads = 256;
  SAW(CUDA_SUCCESS, cuLaunchKernel(function, (n + kThreads - 1) / kThreads, 1, 1, kThreads, 1, 1, 0,
                                   nullptr, parameters, nullptr));
  SAW(CUDA_SUCCESS, cuCtxSynchronize());
  MUST(cuMemcpyDtoH(numbers.data(), sums.base(), count * sizeof(float)));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += numbers[i] != static_cast<float>(i % 1000 * 2);
  std::printf("%zu sums, %zu wrong\n", count, wrong);
  if (wrong != 0) ++bug::differences;
  MUST(cuModuleUnload(module));
}

}  // namespace

int main() {
  const std::size_t granularity = bug::start();
  int devices = 0, reaches = 0;
  MUST(cuDeviceGetCount(&devices));
  if (devices < 2) bug::skip("two devices are needed");
  MUST(cuDeviceCanAccessPeer(&reaches, 0, 1));
  if (!reaches) bug::skip("device 0 does not reach device 1");
  add_vectors(granularity);
  return bug::verdict();
}
