// SPDX-License-Identifier: Apache-2.0
// The layout of the types that CUDA 13.3 to 13.5 added: of our declarations if the headers are
// older, else of NVIDIA's.
#include "api/newer/endpoint.h"

#include <cstddef>

namespace cuvmm {
namespace {

static_assert(sizeof(CUlogicalEndpointId) == 4);
static_assert(sizeof(CUlogicalEndpointFabricHandle) == 64);
static_assert(sizeof(CUlogicalEndpointProp) == 24);
static_assert(offsetof(CUlogicalEndpointProp, unicast) == 4);
static_assert(offsetof(CUlogicalEndpointProp, multicast) == 4);
static_assert(offsetof(CUlogicalEndpointProp, size) == 8);
static_assert(offsetof(CUlogicalEndpointProp, ipcHandleTypes) == 16);
static_assert(offsetof(CUlogicalEndpointProp, flags) == 20);
static_assert(CU_LOGICAL_ENDPOINT_TYPE_UNICAST == 1 && CU_LOGICAL_ENDPOINT_TYPE_MULTICAST == 2);
static_assert(CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC == 1);
static_assert(CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS == 1);

static_assert(sizeof(CUcliqueInfo) == 8 && offsetof(CUcliqueInfo, id) == 4);
static_assert(CU_CLIQUE_TYPE_MULTICAST_POINTER == 1 &&
              CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT == 3);

static_assert(sizeof(CUfabricCpyOperand) == 24);
static_assert(offsetof(CUfabricCpyOperand, op) == 8);
static_assert(offsetof(CUfabricCpyOperand, op.ptr.locHint) == 16);
static_assert(offsetof(CUfabricCpyOperand, op.le.offset) == 16);
static_assert(sizeof(CUDA_FABRIC_COPY_BATCH_OP) == 64);
static_assert(offsetof(CUDA_FABRIC_COPY_BATCH_OP, dst) == 24);
static_assert(offsetof(CUDA_FABRIC_COPY_BATCH_OP, size) == 48);
static_assert(offsetof(CUDA_FABRIC_COPY_BATCH_OP, flags) == 56);
static_assert(CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT == 2);

#if CUDA_VERSION >= 13040
static_assert(kErrorMulticastResourceFull == CUDA_ERROR_MULTICAST_RESOURCE_FULL);
static_assert(kAttributeDmaBufMmap == CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED);
static_assert(kAttributeEndpointUnicast == CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED);
static_assert(kAttributeEndpointMulticast ==
              CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED);
static_assert(kAttributeEndpointCountedOps ==
              CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED);
static_assert(kAttributeEndpointUnicastOnOwner ==
              CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED);
static_assert(kAttributeEndpointHandleTypes ==
              CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES);
#endif

}  // namespace
}  // namespace cuvmm
