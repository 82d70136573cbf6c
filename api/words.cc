// SPDX-License-Identifier: Apache-2.0
#include "api/words.h"

#include <cuda.h>

#include <cinttypes>
#include <cstdio>

namespace cuvmm {

namespace {
// Numbers where CUDA 12.4's header lacks the enumerator.
constexpr Word kHandleTypes[] = {
    {"none", 0, "CU_MEM_HANDLE_TYPE_NONE"},
    {"posix_fd", 1, "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR"},
    {"win32", 2, "CU_MEM_HANDLE_TYPE_WIN32"},
    {"win32_kmt", 4, "CU_MEM_HANDLE_TYPE_WIN32_KMT"},
    {"fabric", 8, "CU_MEM_HANDLE_TYPE_FABRIC"},
};
constexpr Word kAllocationTypes[] = {
    {"invalid", 0, "CU_MEM_ALLOCATION_TYPE_INVALID"},
    {"pinned", 1, "CU_MEM_ALLOCATION_TYPE_PINNED"},
    {"managed", 2, ""},
};
constexpr Word kLocationTypes[] = {
    {"device", 1, "CU_MEM_LOCATION_TYPE_DEVICE"},
    {"host", 2, "CU_MEM_LOCATION_TYPE_HOST"},
    {"host_numa", 3, "CU_MEM_LOCATION_TYPE_HOST_NUMA"},
    {"host_numa_current", 4, "CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT"},
    {"invisible", 5, ""},
};
constexpr Word kAccess[] = {
    {"none", 0, "CU_MEM_ACCESS_FLAGS_PROT_NONE"},
    {"r", 1, "CU_MEM_ACCESS_FLAGS_PROT_READ"},
    {"rw", 3, "CU_MEM_ACCESS_FLAGS_PROT_READWRITE"},
};
constexpr Word kUsage[] = {
    {"tile_pool", 1, "CU_MEM_CREATE_USAGE_TILE_POOL"},
    {"hw_decompress", 2, ""},
    {"rdma_over_pcie", 4, ""},
};
constexpr Word kGranularity[] = {
    {"minimum", 0, "CU_MEM_ALLOC_GRANULARITY_MINIMUM"},
    {"recommended", 1, "CU_MEM_ALLOC_GRANULARITY_RECOMMENDED"},
};
constexpr Word kRangeTypes[] = {{"dma_buf", 1, "CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD"}};
constexpr Word kMemoryTypes[] = {
    {"host", CU_MEMORYTYPE_HOST, "CU_MEMORYTYPE_HOST"},
    {"device", CU_MEMORYTYPE_DEVICE, "CU_MEMORYTYPE_DEVICE"},
    {"array", CU_MEMORYTYPE_ARRAY, "CU_MEMORYTYPE_ARRAY"},
    {"unified", CU_MEMORYTYPE_UNIFIED, "CU_MEMORYTYPE_UNIFIED"},
};
constexpr Word kDeviceAttributes[] = {
    {"integrated", 18, "CU_DEVICE_ATTRIBUTE_INTEGRATED"},
    {"unified_addressing", 41, "CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING"},
    {"managed_memory", 83, "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY"},
    {"pageable_memory_access", 88, "CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS"},
    {"concurrent_managed", 89, "CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS"},
    {"virtual_memory_management", 102, "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"},
    {"handle_type_posix_fd", 103,
     "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED"},
    {"handle_type_win32", 104, "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED"},
    {"handle_type_win32_kmt", 105, "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED"},
    {"generic_compression", 107, "CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED"},
    {"rdma_with_vmm", 110, "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED"},
    {"sparse_arrays", 112, "CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED"},
    {"memory_pools", 115, "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED"},
    {"rdma", 116, "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED"},
    {"mempool_handle_types", 119, "CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES"},
    {"deferred_mapping_arrays", 121, "CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED"},
    {"dma_buf_mmap", 152, ""},
    {"endpoint_unicast", 153, ""},
    {"endpoint_multicast", 154, ""},
    {"endpoint_counted_ops", 155, ""},
    {"endpoint_on_owner", 156, ""},
    {"endpoint_handle_types", 158, ""},
    {"dma_buf", 124, "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED"},
    {"ipc_event", 125, "CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED"},
    {"handle_type_fabric", 128, "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED"},
    {"multicast", 132, "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED"},
    {"host_numa_id", 134, "CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID"},
    {"host_numa_vmm", 141, ""},
    {"host_numa_multinode", 143, ""},
    {"host_vmm", 145, ""},
    {"locality_domains", 149, ""},
    {"domain_multiprocessors", 157, ""},
    {"localized_rdma", 161, ""},
};
constexpr Word kPointerAttributes[] = {
    {"context", 1, "CU_POINTER_ATTRIBUTE_CONTEXT"},
    {"memory_type", 2, "CU_POINTER_ATTRIBUTE_MEMORY_TYPE"},
    {"device_pointer", 3, "CU_POINTER_ATTRIBUTE_DEVICE_POINTER"},
    {"host_pointer", 4, "CU_POINTER_ATTRIBUTE_HOST_POINTER"},
    {"buffer_id", 7, "CU_POINTER_ATTRIBUTE_BUFFER_ID"},
    {"is_managed", 8, "CU_POINTER_ATTRIBUTE_IS_MANAGED"},
    {"device_ordinal", 9, "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL"},
    {"is_legacy_ipc_capable", 10, "CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE"},
    {"range_start", 11, "CU_POINTER_ATTRIBUTE_RANGE_START_ADDR"},
    {"range_size", 12, "CU_POINTER_ATTRIBUTE_RANGE_SIZE"},
    {"mapped", 13, "CU_POINTER_ATTRIBUTE_MAPPED"},
    {"allowed_handle_types", 14, "CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES"},
    {"is_rdma_capable", 15, "CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE"},
    {"access_flags", 16, "CU_POINTER_ATTRIBUTE_ACCESS_FLAGS"},
    {"mempool", 17, "CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE"},
    {"mapping_size", 18, "CU_POINTER_ATTRIBUTE_MAPPING_SIZE"},
    {"mapping_base", 19, "CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR"},
    {"memory_block_id", 20, "CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID"},
    {"locality_domain", 22, ""},
};
constexpr Word kPoolAttributes[] = {
    {"reuse_follow_events", 1, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES"},
    {"reuse_opportunistic", 2, "CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC"},
    {"reuse_internal", 3, "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES"},
    {"release_threshold", 4, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"},
    {"reserved_current", 5, "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT"},
    {"reserved_high", 6, "CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH"},
    {"used_current", 7, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT"},
    {"used_high", 8, "CU_MEMPOOL_ATTR_USED_MEM_HIGH"},
    {"allocation_type", 9, ""},
    {"handle_types", 10, ""},
    {"location_id", 11, ""},
    {"location_type", 12, ""},
    {"max_size", 13, ""},
    {"hw_decompress", 14, ""},
    {"domain", 15, ""},
};
constexpr Word kExternalMemoryTypes[] = {
    {"opaque_fd", 1, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD"},
    {"opaque_win32", 2, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32"},
    {"opaque_win32_kmt", 3, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT"},
    {"d3d12_heap", 4, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP"},
    {"d3d12_resource", 5, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE"},
    {"d3d11_resource", 6, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE"},
    {"d3d11_resource_kmt", 7, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT"},
    {"nvscibuf", 8, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF"},
    {"dmabuf_fd", 9, ""},
};
constexpr Word kExternalSemaphoreTypes[] = {
    {"opaque_fd", 1, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD"},
    {"opaque_win32", 2, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32"},
    {"opaque_win32_kmt", 3, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT"},
    {"d3d12_fence", 4, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE"},
    {"d3d11_fence", 5, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE"},
    {"nvscisync", 6, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC"},
    {"d3d11_keyed_mutex", 7, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX"},
    {"d3d11_keyed_mutex_kmt", 8, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT"},
    {"timeline_fd", 9, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD"},
    {"timeline_win32", 10, "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32"},
};
// These words have no names in C, so that a written C file also builds with older headers.
constexpr Word kEndpointTypes[] = {{"invalid", 0, ""}, {"unicast", 1, ""}, {"multicast", 2, ""}};
constexpr Word kEndpointHandleTypes[] = {{"none", 0, ""}, {"fabric", 1, ""}};
constexpr Word kEndpointFlags[] = {{"counted_ops", 1, ""}};
constexpr Word kFabricOperands[] = {{"pointer", 1, ""}, {"endpoint", 2, ""}};
}  // namespace

std::span<const Word> endpoint_type_words() { return kEndpointTypes; }
std::span<const Word> endpoint_handle_type_words() { return kEndpointHandleTypes; }
std::span<const Word> endpoint_flag_words() { return kEndpointFlags; }
std::span<const Word> fabric_operand_words() { return kFabricOperands; }
std::span<const Word> external_memory_type_words() { return kExternalMemoryTypes; }
std::span<const Word> external_semaphore_type_words() { return kExternalSemaphoreTypes; }
std::span<const Word> handle_type_words() { return kHandleTypes; }
std::span<const Word> allocation_type_words() { return kAllocationTypes; }
std::span<const Word> location_type_words() { return kLocationTypes; }
std::span<const Word> access_words() { return kAccess; }
std::span<const Word> usage_words() { return kUsage; }
std::span<const Word> range_type_words() { return kRangeTypes; }
std::span<const Word> memory_type_words() { return kMemoryTypes; }
std::span<const Word> device_attribute_words() { return kDeviceAttributes; }
std::span<const Word> pool_attribute_words() { return kPoolAttributes; }

std::span<const Word> words_of(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kHandleType:
      return kHandleTypes;
    case ParameterKind::kRangeHandleType:
      return kRangeTypes;
    case ParameterKind::kOption:
      return kGranularity;
    case ParameterKind::kAttribute:
      return kDeviceAttributes;
    case ParameterKind::kPointerAttribute:
      return kPointerAttributes;
    case ParameterKind::kPoolAttribute:
      return kPoolAttributes;
    case ParameterKind::kAllocationType:
      return kAllocationTypes;
    default:
      return {};
  }
}

std::optional<std::uint64_t> find_word(std::span<const Word> words, std::string_view word) {
  for (const Word& entry : words) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

std::string_view find_value(std::span<const Word> words, std::uint64_t value) {
  for (const Word& entry : words) {
    if (entry.value == value) return entry.word;
  }
  return {};
}

std::string bits_text(std::span<const Word> words, std::uint64_t value) {
  std::string text;
  std::uint64_t left = value;
  for (const Word& entry : words) {
    if (entry.value == 0 || (left & entry.value) != entry.value) continue;
    if (!text.empty()) text += '|';
    text += entry.word;
    left &= ~entry.value;
  }
  if (left != 0 || text.empty()) {
    if (!text.empty()) text += '|';
    text += word_text(words, left);
  }
  return text;
}

std::string word_text(std::span<const Word> words, std::uint64_t value) {
  const std::string_view word = find_value(words, value);
  return word.empty() ? number_text(value) : std::string(word);
}

std::string number_text(std::uint64_t value) {
  char text[32];
  // Negative values of int parameters arrive sign-extended.
  constexpr std::uint64_t kSmallNegative = ~std::uint64_t{0} - 4095;
  constexpr std::uint64_t kAddressLike = std::uint64_t{1} << 40;
  constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 46;
  if (value > kSmallNegative) {
    std::snprintf(text, sizeof text, "-%llu", static_cast<unsigned long long>(~value + 1));
    return text;
  }
  constexpr struct {
    int shift;
    char suffix;
  } kSuffixes[] = {{40, 'T'}, {30, 'G'}, {20, 'M'}, {10, 'K'}};
  for (const auto& unit : kSuffixes) {
    if (value == 0 || value > kLargestSize) break;
    if (value & ((std::uint64_t{1} << unit.shift) - 1)) continue;
    const auto count = static_cast<unsigned long long>(value >> unit.shift);
    if (count >= 4096) break;
    std::snprintf(text, sizeof text, "%llu%c", count, unit.suffix);
    return text;
  }
  std::snprintf(text, sizeof text, value >= kAddressLike ? "0x%llx" : "%llu",
                static_cast<unsigned long long>(value));
  return text;
}

std::string hex_text(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

namespace {

constexpr struct {
  unsigned shift;
  const char* unit;
} kUnits[] = {{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};

}  // namespace

std::string size_text(std::uint64_t size) {
  // No address space is so large, so this is a negative number, or a result code that a program
  // took for a size.
  if (const auto below_0 = static_cast<std::int64_t>(size); below_0 < 0) {
    constexpr std::int64_t kSmall = -(std::int64_t{1} << 40);
    return hex_text(size) + (below_0 > kSmall ? " (" + std::to_string(below_0) + ")" : "");
  }
  for (auto [shift, unit] : kUnits) {
    const std::uint64_t whole = size >> shift;
    const std::uint64_t rest = size - (whole << shift);
    if (whole == 0 || (shift < 20 && rest != 0)) continue;
    std::string text = std::to_string(whole) + " " + unit;
    return rest == 0 ? text : text + " + " + size_text(rest);
  }
  return std::to_string(size) + " B";
}

std::string rough_size_text(std::uint64_t bytes) {
  for (auto [shift, unit] : kUnits) {
    if (bytes >> shift == 0) continue;
    const std::uint64_t tenths =
        (bytes >> shift) * 10 + ((bytes >> (shift - 10) & 1023) * 10 >> 10);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
    return text + " " + unit;
  }
  return std::to_string(bytes) + " B";
}

std::string count_text(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  return text.append(noun) + (count == 1 ? "" : "s");
}

}  // namespace cuvmm
