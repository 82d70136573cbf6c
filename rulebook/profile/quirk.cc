// SPDX-License-Identifier: Apache-2.0
#include "rulebook/profile/quirk.h"

namespace cuvmm {

namespace {

constexpr QuirkInfo kQuirks[] = {
    {"cuMemCreate-tile-pool-size", CUDA_ERROR_INVALID_VALUE,
     "TILE_POOL memory beyond the device's size is an invalid value; from 2^45 bytes on it is "
     "refused as any memory is."},
    {"cuMemCreate-exportable-below-4g", CUDA_ERROR_OUT_OF_MEMORY,
     "Memory whose handle can be exported as a file descriptor is smaller than 4 GiB."},
    {"cuImportExternalMemory-compressed-elsewhere", CUDA_ERROR_UNKNOWN,
     "Compressed memory of another device than the context's is no external memory."},
    {"cuMemGetAllocationPropertiesFromHandle-normalised", CUDA_SUCCESS,
     "HOST memory is reported as HOST_NUMA, and handle types without their unknown bits."},
    {"cuMemSetAccess-partial", CUDA_SUCCESS,
     "When a host location is refused for device memory, what comes before it has effect: the "
     "mappings before that one, and on it the descriptors before."},
    {"cuMemSetAccess-to-hole", CUDA_SUCCESS,
     "Over a range with a hole the call succeeds, and has effect up to the hole."},
    {"cuMemset-elsewhere", CUDA_ERROR_INVALID_VALUE,
     "Memory of cuMemAlloc is filled by its own device, and by others whose context has "
     "peer access to it. Copies are made for any device."},
    {"cuMemGetHandleForAddressRange-context", CUDA_ERROR_INVALID_CONTEXT,
     "A context must be current. Checked after the flags and the alignment."},
    {"cuMemGetHandleForAddressRange-mixed", CUDA_SUCCESS,
     "The memory behind a range may be of different properties as long as it is on one device."},
    {"cuMemGetHandleForAddressRange-pcie", CUDA_ERROR_NOT_SUPPORTED,
     "The PCIe mapping type is not supported. Checked after the range."},
    {"cuMemGetMemPool-current-node", CUDA_ERROR_NOT_SUPPORTED,
     "The pools of HOST_NUMA_CURRENT are not supported, to be asked for or to be set, where other "
     "locations without a pool are invalid values. Checked after the pool, or the place to write "
     "it to."},
    {"cuMemGetMemPool-invisible", CUDA_ERROR_NOT_SUPPORTED,
     "The pools of INVISIBLE, and of kinds of places that do not exist, are not supported either, "
     "even if the pool to be set never existed."},
    {"cuMemPoolCreate-no-descriptor", CUDA_ERROR_INVALID_VALUE,
     "No pool can be exported as a file descriptor, whatever attribute 119 says."},
    {"cuMemBatchDecompressAsync-no-engine", CUDA_ERROR_NOT_SUPPORTED,
     "No call is supported, whatever is wrong with it: the device has no engine that unpacks."},
    {"cuStreamBatchMemOp-no-flush", CUDA_ERROR_NOT_SUPPORTED,
     "A flush of remote writes is not supported. Checked after the flags of the call, and before "
     "the words of all operations."},
    {"cuMemset-fault", CUDA_ERROR_LAUNCH_FAILED,
     "A fill whose memory has ended when its turn comes is a failed launch. A kernel with the same "
     "fault gets an illegal address."},
    {"cuArrayCreate-no-graphics", CUDA_ERROR_INVALID_VALUE,
     "No array is a color attachment, a depth texture, a sparse surface or planar."},
    {"cuStreamWriteValue-no-flags", CUDA_ERROR_INVALID_VALUE,
     "A write takes no flag: each orders the writes before it."},
    {"cuMemAdvise-of-node", CUDA_SUCCESS,
     "Advice that names a NUMA node succeeds for every range and node, with and without a context. "
     "Advice about who accesses the range is refused."},
    {"cuMemAdvise-context", CUDA_ERROR_INVALID_CONTEXT,
     "Other advice, and a prefetch on a default stream, need a current context. Checked before the "
     "range, and after the device of a prefetch."},
    {"cuCtxCreate-behind-fault", CUDA_SUCCESS,
     "Work that fails takes all contexts of the process on its device with it, and the process "
     "gets "
     "no new one there: cuCtxCreate and the next retain of an ended primary context answer the "
     "fault."},
};
static_assert(sizeof kQuirks / sizeof *kQuirks == static_cast<std::size_t>(Quirk::kCount));

}  // namespace

const QuirkInfo& info(Quirk quirk) { return kQuirks[static_cast<std::size_t>(quirk)]; }

std::optional<Quirk> find_quirk(std::string_view id) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Quirk::kCount); ++i) {
    if (id == kQuirks[i].id) return static_cast<Quirk>(i);
  }
  return std::nullopt;
}

}  // namespace cuvmm
