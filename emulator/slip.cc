#include "emulator/slip.h"

#include <cstring>
#include <new>
#include <utility>

namespace cuvmm::emulator {

void unshare(Physical& memory) {
  Physical copy(memory.size(), memory.prop(), true, 0, nullptr);
  char* const to = copy.touch();
  const char* const from = memory.touch();
  if (to && from) std::memcpy(to, from, memory.size());
  memory.~Physical();
  new (&memory) Physical(std::move(copy));
}

}  // namespace cuvmm::emulator
