// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/slip.h"

#include <cstring>
#include <new>
#include <utility>

namespace cuvmm::emulator {

void unshare(Physical& memory) {
  Physical copy(memory.size(), memory.prop(), true, 0, nullptr);
  char* const to = copy.touch(0, copy.size());
  const char* const from = memory.touch(0, memory.size());
  if (to && from) std::memcpy(to, from, memory.size());
  memory.~Physical();
  new (&memory) Physical(std::move(copy));
}

}  // namespace cuvmm::emulator
