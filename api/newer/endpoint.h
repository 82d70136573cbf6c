// SPDX-License-Identifier: Apache-2.0
// Logical endpoints (CUDA 13.3), cliques of a fabric (13.4) and fabric copies (13.5), for headers
// that lack them. The declarations have NVIDIA's names and layout; endpoint_test.cc compares both.
#pragma once

#include <cuda.h>

#include <cstdint>

#if CUDA_VERSION < 13030
using CUlogicalEndpointId = cuuint32_t;

enum CUlogicalEndpointIpcHandleType : unsigned {
  CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_NONE = 0,
  CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC = 1,
};
struct CUlogicalEndpointFabricHandle {
  unsigned char data[64];
};
enum CUlogicalEndpointType : unsigned {
  CU_LOGICAL_ENDPOINT_TYPE_INVALID = 0,
  CU_LOGICAL_ENDPOINT_TYPE_UNICAST = 1,
  CU_LOGICAL_ENDPOINT_TYPE_MULTICAST = 2,
};
enum CUlogicalEndpointFlag : unsigned {
  CU_LOGICAL_ENDPOINT_FLAG_NONE = 0,
  CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS = 1,
};
struct CUlogicalEndpointProp {
  CUlogicalEndpointType type;
  union {
    struct {
      CUdevice device;
    } unicast;
    struct {
      unsigned int numDevices;
    } multicast;
  };
  unsigned long long size;
  unsigned int ipcHandleTypes;
  unsigned int flags;
};
#endif

#if CUDA_VERSION < 13040
enum CUcliqueType : unsigned {
  CU_CLIQUE_TYPE_UNICAST_POINTER = 0,
  CU_CLIQUE_TYPE_MULTICAST_POINTER = 1,
  CU_CLIQUE_TYPE_UNICAST_LOGICAL_ENDPOINT = 2,
  CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT = 3,
};
struct CUcliqueInfo {
  CUcliqueType type;
  unsigned int id;
};
#endif

#if CUDA_VERSION < 13050
enum CUfabricCpyOperandType : unsigned {
  CU_FABRIC_COPY_OPERAND_TYPE_POINTER = 1,
  CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT = 2,
};
struct CUfabricCpyOperand {
  CUfabricCpyOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      CUmemLocation locHint;
    } ptr;
    struct {
      CUlogicalEndpointId id;
      cuuint64_t offset;
    } le;
  } op;
};
struct CUDA_FABRIC_COPY_BATCH_OP {
  CUfabricCpyOperand src;
  CUfabricCpyOperand dst;
  size_t size;
  unsigned int flags;
};
#endif

namespace cuvmm {

/// CUDA_ERROR_MULTICAST_RESOURCE_FULL, CUDA 13.4.
inline constexpr auto kErrorMulticastResourceFull = static_cast<CUresult>(47);

// Device attributes by number, because no older header has them.
inline constexpr int kAttributeDmaBufMmap = 152;              ///< CUDA 13.3
inline constexpr int kAttributeEndpointUnicast = 153;         ///< CUDA 13.3
inline constexpr int kAttributeEndpointMulticast = 154;       ///< CUDA 13.3
inline constexpr int kAttributeEndpointCountedOps = 155;      ///< CUDA 13.3
inline constexpr int kAttributeEndpointUnicastOnOwner = 156;  ///< CUDA 13.3
inline constexpr int kAttributeEndpointHandleTypes = 158;     ///< CUDA 13.4

/// From compute capability 10.7 on, memory may be bound to a multicast object at multiples of this
/// many bytes (CUDA 13.4).
inline constexpr std::uint64_t kUnalignedBind = 256;
constexpr bool binds_unaligned(int major, int minor) {
  return major > 10 || (major == 10 && minor >= 7);
}

}  // namespace cuvmm
