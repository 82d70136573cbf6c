// SPDX-License-Identifier: Apache-2.0
// Structures of NVML, declared here without NVIDIA's header: sizes, offsets and version words are
// NVML's ABI, which nvml_test.cc and emulator/python/nvml_client.py (with PyPI's nvidia-ml-py)
// compare with other declarations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::nvml {

/// The first word of a versioned structure: its size, and its version in the top byte.
template <class Struct>
constexpr unsigned version_word(unsigned version) {
  return static_cast<unsigned>(sizeof(Struct)) | version << 24;
}

/// nvmlPciInfo_t of versions 1 and 2 of nvmlDeviceGetPciInfo: `bus_id` is "0000:18:00.0".
struct PciInfoLegacy {
  char bus_id[16];
  unsigned domain, bus, device;
  unsigned device_id;  ///< vendor in the low half
  unsigned subsystem_id;
  unsigned reserved[4];
};

/// nvmlPciInfo_t of version 3, which ends in `bus_id`, "00000000:18:00.0".
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

/// nvmlPciInfoExt_v1_t.
struct PciInfoExt {
  unsigned version;
  unsigned domain, bus, device;
  unsigned device_id;
  unsigned subsystem_id;
  unsigned base_class, sub_class;
  char bus_id[32];
};

/// nvmlMemory_t and nvmlMemory_v2_t; all sizes in bytes.
struct Memory {
  std::uint64_t total, free, used;
};
struct MemoryV2 {
  unsigned version;
  std::uint64_t total, reserved, free, used;
};

/// nvmlProcessInfo_v1_t, and nvmlProcessInfo_t, whose instances are those of a MIG device.
struct ProcessInfoV1 {
  unsigned process;
  std::uint64_t used;
};
struct ProcessInfo {
  unsigned process;
  std::uint64_t used;
  unsigned gpu_instance, compute_instance;
};
/// nvmlGpuFabricInfo_t, and versions 2 and 3 of the structure of nvmlDeviceGetGpuFabricInfoV.
struct FabricInfo {
  unsigned char cluster[16];
  int status;  ///< an Error
  std::uint32_t clique;
  std::uint8_t state;
};
struct FabricInfoV2 {
  unsigned version;
  unsigned char cluster[16];
  int status;
  std::uint32_t clique;
  std::uint8_t state;
  std::uint32_t health;
};
struct FabricInfoV3 {
  FabricInfoV2 v2;
  std::uint8_t health_summary;
};

/// nvmlFieldValue_t; the value is an unsigned number here.
struct FieldValue {
  unsigned field;
  unsigned scope;        ///< for a field of links: the link
  std::int64_t time;     ///< microseconds since 1970
  std::int64_t latency;  ///< microseconds
  int type;              ///< nvmlValueType_t: 1 for unsigned
  int error;             ///< an Error
  std::uint64_t value;
};

/// nvmlUUID_t: 41 bytes of text, or the 16 bytes of the UUID itself.
struct Uuid {
  unsigned version;
  unsigned type;  ///< 1 text, 2 bytes
  union {
    char text[41];
    unsigned char bytes[16];
  } value;
};

static_assert(sizeof(PciInfoLegacy) == 52 && sizeof(PciInfo) == 68 && sizeof(PciInfoExt) == 64);
static_assert(version_word<MemoryV2>(2) == 0x02000028);
static_assert(version_word<FabricInfoV2>(2) == 0x02000024);
static_assert(version_word<FabricInfoV3>(3) == 0x03000028);
static_assert(version_word<Uuid>(1) == 0x01000034);

}  // namespace cuvmm::nvml
