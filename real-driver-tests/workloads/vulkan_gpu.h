// SPDX-License-Identifier: Apache-2.0
// A headless Vulkan device that shares memory and semaphores by file descriptor: the exporter in
// vulkan_import.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <vulkan/vulkan_raii.hpp>

namespace vulkan {

constexpr auto kMemoryFd = vk::ExternalMemoryHandleTypeFlagBits::eOpaqueFd;
constexpr auto kSemaphoreFd = vk::ExternalSemaphoreHandleTypeFlagBits::eOpaqueFd;

using Uuid = std::array<std::uint8_t, VK_UUID_SIZE>;

/// The physical device that CUDA knows by `uuid`, a logical device on it and one queue.
class Gpu {
 public:
  explicit Gpu(const Uuid& uuid)
      : instance_(make_instance(context_)),
        physical_(find(instance_, uuid)),
        family_(transfer_family(physical_)),
        device_(make_device(physical_, family_)),
        queue_(device_, family_, 0),
        pool_(device_, {vk::CommandPoolCreateFlagBits::eTransient, family_}) {}

  const vk::raii::Device& device() const { return device_; }

  /// Memory that meets `requirements`; `extend` is chained to the allocation.
  vk::raii::DeviceMemory allocate(const vk::MemoryRequirements& requirements,
                                  vk::MemoryPropertyFlags properties, const void* extend) const {
    const auto kinds = physical_.getMemoryProperties();
    for (std::uint32_t i = 0; i < kinds.memoryTypeCount; ++i) {
      const bool fits = (requirements.memoryTypeBits >> i & 1U) != 0;
      if (!fits || (kinds.memoryTypes[i].propertyFlags & properties) != properties) continue;
      return {device_, vk::MemoryAllocateInfo{requirements.size, i, extend}};
    }
    throw std::runtime_error("no Vulkan memory type fits");
  }

  int exported(const vk::raii::DeviceMemory& memory) const {
    return device_.getMemoryFdKHR({*memory, kMemoryFd});
  }
  int exported(const vk::raii::Semaphore& semaphore) const {
    return device_.getSemaphoreFdKHR({*semaphore, kSemaphoreFd});
  }

  /// An exportable semaphore, counting (timeline) or not.
  vk::raii::Semaphore semaphore(bool timeline) const {
    const vk::ExportSemaphoreCreateInfo shared{kSemaphoreFd};
    const vk::SemaphoreTypeCreateInfo type{
        timeline ? vk::SemaphoreType::eTimeline : vk::SemaphoreType::eBinary, 0, &shared};
    return {device_, vk::SemaphoreCreateInfo{{}, &type}};
  }

  /// A semaphore and the value to wait for or to set; only timeline semaphores use the value.
  struct Point {
    const vk::raii::Semaphore* semaphore = nullptr;
    std::uint64_t value = 0;
  };

  /// Runs the commands that `record(commands)` records, after `wait` and before `signal`, and waits
  /// for their end.
  template <class Record>
  void submit(Record&& record, Point wait, Point signal) const {
    const vk::raii::CommandBuffers buffers(
        device_, vk::CommandBufferAllocateInfo{*pool_, vk::CommandBufferLevel::ePrimary, 1});
    const vk::raii::CommandBuffer& commands = buffers.front();
    commands.begin({vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
    record(commands);
    commands.end();
    const vk::PipelineStageFlags stage = vk::PipelineStageFlagBits::eAllCommands;
    const vk::Semaphore waited = wait.semaphore ? **wait.semaphore : vk::Semaphore{};
    const vk::Semaphore signalled = signal.semaphore ? **signal.semaphore : vk::Semaphore{};
    const vk::TimelineSemaphoreSubmitInfo values{1, &wait.value, 1, &signal.value};
    vk::SubmitInfo info{0, nullptr, nullptr, 1, &*commands, 0, nullptr, &values};
    if (wait.semaphore) info.setWaitSemaphores(waited).setWaitDstStageMask(stage);
    if (signal.semaphore) info.setSignalSemaphores(signalled);
    const vk::raii::Fence done(device_, vk::FenceCreateInfo{});
    queue_.submit(info, *done);
    if (device_.waitForFences(*done, VK_TRUE, 10'000'000'000) != vk::Result::eSuccess) {
      throw std::runtime_error("Vulkan's queue did not end within 10 s");
    }
  }

 private:
  static vk::raii::Instance make_instance(const vk::raii::Context& context) {
    const vk::ApplicationInfo application{"cuvmm", 1, nullptr, 0, VK_API_VERSION_1_2};
    return {context, vk::InstanceCreateInfo{{}, &application}};
  }
  static vk::raii::PhysicalDevice find(const vk::raii::Instance& instance, const Uuid& uuid) {
    for (const auto& device : vk::raii::PhysicalDevices(instance)) {
      const auto chain =
          device.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceIDProperties>();
      const auto& id = chain.get<vk::PhysicalDeviceIDProperties>().deviceUUID;
      if (std::memcmp(id.data(), uuid.data(), uuid.size()) == 0) return device;
    }
    throw std::runtime_error("Vulkan has no device with this UUID");
  }
  static std::uint32_t transfer_family(const vk::raii::PhysicalDevice& device) {
    std::uint32_t index = 0;
    for (const auto& family : device.getQueueFamilyProperties()) {
      // Clearing an image needs a queue of compute or graphics.
      if (family.queueFlags & vk::QueueFlagBits::eCompute) return index;
      ++index;
    }
    throw std::runtime_error("Vulkan's device has no compute queue");
  }
  static vk::raii::Device make_device(const vk::raii::PhysicalDevice& physical,
                                      std::uint32_t family) {
    static constexpr std::array<const char*, 2> kExtensions = {
        VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    const float priority = 1;
    const vk::DeviceQueueCreateInfo queue{{}, family, 1, &priority};
    vk::PhysicalDeviceVulkan12Features features;
    features.timelineSemaphore = VK_TRUE;
    return {physical, vk::DeviceCreateInfo{{}, queue, {}, kExtensions, nullptr, &features}};
  }

  vk::raii::Context context_;
  vk::raii::Instance instance_;
  vk::raii::PhysicalDevice physical_;
  std::uint32_t family_;
  vk::raii::Device device_;
  vk::raii::Queue queue_;
  vk::raii::CommandPool pool_;
};

}  // namespace vulkan
