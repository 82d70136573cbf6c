// SPDX-License-Identifier: Apache-2.0
// cuMemMapArrayAsync: tiles of sparse arrays, which the emulator does not have.
#include "emulator/base/refusal.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

void add_facts(const Emulator& e, const calls::MemMapArrayAsync& call, Facts& facts) {
  if (Streams::is_default(call.hStream)) return;
  const Stream* stream = e.streams.find(call.hStream);
  facts.place.device = stream && stream->context ? stream->context->device : Facts::kUnknownDevice;
}

CUresult perform(Emulator&, const calls::MemMapArrayAsync&, const Facts&, const Retired&) {
  static std::atomic<bool> said{false};
  return refuse_once(said, "cuMemMapArrayAsync (there are no sparse arrays)");
}

}  // namespace cuvmm::emulator
