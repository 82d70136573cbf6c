// SPDX-License-Identifier: Apache-2.0
// Calls that refuse the legacy default stream. Under the names for per-thread default streams
// (_ptsz) NULL is another stream, which these calls accept.
#pragma once

#include "api/calls.h"

namespace cuvmm {

/// Whether a program must not pass the legacy default stream to the call.
template <class CallStruct>
inline constexpr bool kRefusesLegacyStream = false;

#define CUVMM_REFUSES_LEGACY_STREAM(Name) \
  template <>                             \
  inline constexpr bool kRefusesLegacyStream<calls::Name> = true;
CUVMM_REFUSES_LEGACY_STREAM(MemcpyBatchAsync)
CUVMM_REFUSES_LEGACY_STREAM(MemcpyBatchAsync_v2)
CUVMM_REFUSES_LEGACY_STREAM(Memcpy3DBatchAsync)
CUVMM_REFUSES_LEGACY_STREAM(Memcpy3DBatchAsync_v2)
CUVMM_REFUSES_LEGACY_STREAM(MemPrefetchBatchAsync)
CUVMM_REFUSES_LEGACY_STREAM(MemDiscardBatchAsync)
CUVMM_REFUSES_LEGACY_STREAM(MemDiscardAndPrefetchBatchAsync)
CUVMM_REFUSES_LEGACY_STREAM(StreamAttachMemAsync)
CUVMM_REFUSES_LEGACY_STREAM(FabricCpyBatchAsync)
#undef CUVMM_REFUSES_LEGACY_STREAM

/// The legacy default stream by one of its two names. `per_thread`: NULL is not one of them.
inline bool is_legacy_stream(CUstream stream, bool per_thread) {
  return stream == CU_STREAM_LEGACY || (!stream && !per_thread);
}

/// The call as a program makes it under a name for per-thread default streams.
template <class CallStruct>
CallStruct on_per_thread_stream(CallStruct call) {
  if constexpr (kRefusesLegacyStream<CallStruct>) {
    if (!call.hStream) call.hStream = CU_STREAM_PER_THREAD;
  }
  return call;
}

}  // namespace cuvmm
