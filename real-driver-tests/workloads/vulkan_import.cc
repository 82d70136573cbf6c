// SPDX-License-Identifier: Apache-2.0
// Imports Vulkan's memory and semaphores into CUDA as documented: buffers (in their own memory and
// in dedicated memory), an image, binary and timeline semaphores. Both sides write, and each checks
// the other's bytes. All calls are legal: no finding is expected.
#include <dlfcn.h>

#include <vector>

#include "examples/bugs/bug.h"
#include "real-driver-tests/workloads/vulkan_gpu.h"

namespace {

constexpr std::size_t kBytes = (3U << 20) + 4096;
constexpr std::size_t kTail = 65536;
constexpr std::uint32_t kSide = 64;  // pixels of four bytes

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

bool all_are(std::span<const unsigned char> bytes, unsigned char value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](unsigned char b) { return b == value; });
}

/// A semaphore of both sides.
class Shared {
 public:
  Shared(const vulkan::Gpu& gpu, bool timeline) : vulkan_(gpu.semaphore(timeline)) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {};
    desc.type = timeline ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
                         : CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = gpu.exported(vulkan_);  // CUDA owns it from here on
    MUST(cuImportExternalSemaphore(&cuda_, &desc));
  }
  ~Shared() { MUST(cuDestroyExternalSemaphore(cuda_)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  vulkan::Gpu::Point at(std::uint64_t value) const { return {&vulkan_, value}; }
  void wait(std::uint64_t value) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {};
    params.params.fence.value = value;
    MUST(cuWaitExternalSemaphoresAsync(&cuda_, &params, 1, nullptr));
  }
  void signal(std::uint64_t value) {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {};
    params.params.fence.value = value;
    MUST(cuSignalExternalSemaphoresAsync(&cuda_, &params, 1, nullptr));
  }

 private:
  vk::raii::Semaphore vulkan_;
  CUexternalSemaphore cuda_ = nullptr;
};

CUexternalMemory import(const vulkan::Gpu& gpu, const vk::raii::DeviceMemory& memory,
                        std::uint64_t size, bool dedicated) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = gpu.exported(memory);  // CUDA owns it from here on
  desc.size = size;
  desc.flags = dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
  CUexternalMemory imported = nullptr;
  MUST(cuImportExternalMemory(&imported, &desc));
  return imported;
}

CUdeviceptr mapped(CUexternalMemory memory, std::uint64_t offset, std::uint64_t size) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = {};
  desc.offset = offset;
  desc.size = size;
  CUdeviceptr address = 0;
  MUST(cuExternalMemoryGetMappedBuffer(&address, memory, &desc));
  return address;
}

vk::raii::Buffer make_buffer(const vulkan::Gpu& gpu, const void* extend) {
  const auto use = vk::BufferUsageFlagBits::eTransferDst | vk::BufferUsageFlagBits::eTransferSrc;
  return {gpu.device(),
          vk::BufferCreateInfo{{}, kBytes, use, vk::SharingMode::eExclusive, {}, extend}};
}

void share_buffer(const vulkan::Gpu& gpu, bool dedicated, bool timeline) {
  std::printf("a %s buffer, %s semaphores\n", dedicated ? "dedicated" : "plain",
              timeline ? "timeline" : "binary");
  const vk::ExternalMemoryBufferCreateInfo external{vulkan::kMemoryFd};
  const vk::raii::Buffer buffer = make_buffer(gpu, &external);
  const vk::MemoryRequirements requirements = buffer.getMemoryRequirements();
  const vk::MemoryDedicatedAllocateInfo alone{{}, *buffer};
  const vk::ExportMemoryAllocateInfo exportable{vulkan::kMemoryFd, dedicated ? &alone : nullptr};
  const vk::raii::DeviceMemory memory =
      gpu.allocate(requirements, vk::MemoryPropertyFlagBits::eDeviceLocal, &exportable);
  buffer.bindMemory(*memory, 0);

  Shared filled(gpu, timeline);
  Shared changed(gpu, timeline);
  CUexternalMemory imported = import(gpu, memory, requirements.size, dedicated);
  const CUdeviceptr whole = mapped(imported, 0, kBytes);
  // In dedicated memory an H200 maps only buffers that begin at 0.
  const CUdeviceptr tail =
      dedicated ? whole + kBytes - kTail : mapped(imported, kBytes - kTail, kTail);

  gpu.submit([&](auto& commands) { commands.fillBuffer(*buffer, 0, kBytes, 0x07070707); }, {},
             filled.at(1));
  std::vector<unsigned char> bytes(kBytes);
  filled.wait(1);
  MUST(cuMemcpyDtoHAsync(bytes.data(), whole, kBytes, nullptr));
  MUST(cuCtxSynchronize());
  require(all_are(bytes, 7), "CUDA does not see what Vulkan wrote");

  MUST(cuMemsetD8Async(whole, 0x5a, kBytes - kTail, nullptr));
  MUST(cuMemsetD8Async(tail, 0x5a, kTail, nullptr));
  changed.signal(1);
  const vk::raii::Buffer back = make_buffer(gpu, nullptr);
  const auto readable =
      vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
  const vk::raii::DeviceMemory staging =
      gpu.allocate(back.getMemoryRequirements(), readable, nullptr);
  back.bindMemory(*staging, 0);
  gpu.submit(
      [&](auto& commands) {
        commands.copyBuffer(*buffer, *back, vk::BufferCopy{0, 0, kBytes});
      },
      changed.at(1), {});
  const auto* seen = static_cast<const unsigned char*>(staging.mapMemory(0, kBytes));
  require(all_are({seen, kBytes}, 0x5a), "Vulkan does not see what CUDA wrote");
  staging.unmapMemory();

  if (!dedicated) MUST(cuMemFree(tail));
  MUST(cuMemFree(whole));
  MUST(cuDestroyExternalMemory(imported));
}

void share_image(const vulkan::Gpu& gpu) {
  std::printf("an image\n");
  const vk::ExternalMemoryImageCreateInfo external{vulkan::kMemoryFd};
  vk::ImageCreateInfo info{{}, vk::ImageType::e2D, vk::Format::eR8G8B8A8Uint, {kSide, kSide, 1}, 1,
                           1};
  info.usage = vk::ImageUsageFlagBits::eTransferDst;
  info.pNext = &external;
  const vk::raii::Image image(gpu.device(), info);
  const vk::MemoryRequirements requirements = image.getMemoryRequirements();
  const vk::MemoryDedicatedAllocateInfo alone{*image};
  const vk::ExportMemoryAllocateInfo exportable{vulkan::kMemoryFd, &alone};
  const vk::raii::DeviceMemory memory =
      gpu.allocate(requirements, vk::MemoryPropertyFlagBits::eDeviceLocal, &exportable);
  image.bindMemory(*memory, 0);

  CUexternalMemory imported = import(gpu, memory, requirements.size, true);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc = {};
  desc.arrayDesc.Width = kSide;
  desc.arrayDesc.Height = kSide;
  desc.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  desc.arrayDesc.NumChannels = 4;
  desc.numLevels = 1;
  CUmipmappedArray levels = nullptr;
  CUarray level = nullptr;
  MUST(cuExternalMemoryGetMappedMipmappedArray(&levels, imported, &desc));
  MUST(cuMipmappedArrayGetLevel(&level, levels, 0));

  Shared cleared(gpu, false);
  const vk::ImageSubresourceRange all{vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1};
  const auto to = [&](auto& commands, vk::ImageLayout from, vk::ImageLayout layout) {
    const vk::ImageMemoryBarrier barrier{{},
                                         vk::AccessFlagBits::eTransferWrite,
                                         from,
                                         layout,
                                         VK_QUEUE_FAMILY_IGNORED,
                                         VK_QUEUE_FAMILY_IGNORED,
                                         *image,
                                         all};
    commands.pipelineBarrier(vk::PipelineStageFlagBits::eAllCommands,
                             vk::PipelineStageFlagBits::eAllCommands, {}, {}, {}, barrier);
  };
  gpu.submit(
      [&](auto& commands) {
        const auto layout = vk::ImageLayout::eTransferDstOptimal;
        to(commands, vk::ImageLayout::eUndefined, layout);
        const vk::ClearColorValue colour(std::array<std::uint32_t, 4>{9, 9, 9, 9});
        commands.clearColorImage(*image, layout, colour, all);
        to(commands, layout, vk::ImageLayout::eGeneral);
      },
      {}, cleared.at(0));
  cleared.wait(0);
  std::vector<unsigned char> pixels(std::size_t{kSide} * kSide * 4);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = level;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = pixels.data();
  copy.dstPitch = copy.WidthInBytes = std::size_t{kSide} * 4;
  copy.Height = kSide;
  MUST(cuMemcpy2DAsync(&copy, nullptr));
  MUST(cuCtxSynchronize());
  require(all_are(pixels, 9), "CUDA does not see Vulkan's image");
  MUST(cuMipmappedArrayDestroy(levels));
  MUST(cuDestroyExternalMemory(imported));
}

// Looks for the loader at run time, because a machine without Vulkan is no failure of cuvmm.
void need_vulkan() {
  for (const char* name : {"libvulkan.so.1", "libvulkan.so"}) {
    if (dlopen(name, RTLD_NOW | RTLD_LOCAL)) return;
  }
  bug::skip("there is no libvulkan.so.1");
}

vulkan::Uuid uuid_of_device_0() {
  CUuuid cuda = {};
  MUST(cuDeviceGetUuid(&cuda, 0));
  vulkan::Uuid uuid;
  std::memcpy(uuid.data(), cuda.bytes, uuid.size());
  return uuid;
}

}  // namespace

int main() try {
  need_vulkan();
  bug::start();
  const vulkan::Gpu gpu(uuid_of_device_0());
  for (const bool timeline : {false, true}) {
    for (const bool dedicated : {false, true}) share_buffer(gpu, dedicated, timeline);
  }
  share_image(gpu);
  return bug::verdict();
} catch (const std::exception& error) {
  std::printf("Vulkan: %s\n", error.what());
  return 1;
}
