// SPDX-License-Identifier: Apache-2.0
// Attributes of streams. Nothing here obeys them; programs read back the values that they set. An
// H100 with driver 580.159.04 gave the answers, 2026-11-26.
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

// The numbers of CUstreamAttrID; older headers name fewer of them.
constexpr int kAccessWindow = 1, kSyncPolicy = 3, kPriority = 8, kSyncDomainMap = 9,
              kSyncDomain = 10;

using Values = std::map<std::pair<CUstream, int>, CUstreamAttrValue>;

// The values that the program set, under the emulator's lock. Handles are never given out twice.
Values& values() {
  static Values all;
  return all;
}

bool known(const Emulator& e, CUstream stream) {
  return Streams::is_default(stream) || e.streams.find(stream);
}

// The value of a stream for which the program set none.
std::optional<CUstreamAttrValue> initial(const Emulator& e, CUstream stream, int attribute) {
  CUstreamAttrValue value{};
  switch (attribute) {
    case kAccessWindow:
    case kSyncDomain:
      return value;
    case kSyncPolicy: {
      const int policy = Streams::is_default(stream) ? -1 : CU_SYNC_POLICY_AUTO;
      std::memcpy(&value, &policy, sizeof policy);
      return value;
    }
    case kPriority: {
      const Stream* const found = e.streams.find(stream);
      const int priority = found ? found->priority : 0;
      std::memcpy(&value, &priority, sizeof priority);
      return value;
    }
    case kSyncDomainMap: {
      const unsigned char domains[] = {0, 1};  // the default domain, and the remote one
      std::memcpy(&value, domains, sizeof domains);
      return value;
    }
    default:
      return std::nullopt;
  }
}

bool legal(int attribute, const CUstreamAttrValue& value) {
  if (attribute != kSyncPolicy) return true;
  int policy = 0;
  std::memcpy(&policy, &value, sizeof policy);
  return policy >= CU_SYNC_POLICY_AUTO && policy <= CU_SYNC_POLICY_BLOCKING_SYNC;
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuStreamGetAttribute, CUstream stream, CUstreamAttrID attribute,
                      CUstreamAttrValue* out) {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (!known(e, stream)) return CUDA_ERROR_INVALID_HANDLE;
    const auto value = initial(e, stream, attribute);
    if (!out || !value) return CUDA_ERROR_INVALID_VALUE;
    const auto set = values().find({stream, attribute});
    *out = set == values().end() ? *value : set->second;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamGetAttribute_ptsz, cuStreamGetAttribute);

CUVMM_DRIVER_FUNCTION(cuStreamSetAttribute, CUstream stream, CUstreamAttrID attribute,
                      const CUstreamAttrValue* value) {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (!known(e, stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!value || !initial(e, stream, attribute) || !legal(attribute, *value)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    values()[{stream, attribute}] = *value;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamSetAttribute_ptsz, cuStreamSetAttribute);

CUVMM_DRIVER_FUNCTION(cuStreamCopyAttributes, CUstream to, CUstream from) {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (!known(e, to) || !known(e, from)) return CUDA_ERROR_INVALID_HANDLE;
    for (const int attribute :
         {kAccessWindow, kSyncPolicy, kPriority, kSyncDomainMap, kSyncDomain}) {
      const auto set = values().find({from, attribute});
      if (set != values().end()) values()[{to, attribute}] = set->second;
    }
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes);

}  // namespace cuvmm::emulator
