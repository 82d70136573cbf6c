// What the mistakes of CUVMM_MUTATION=slip ... have in common.
#pragma once

#include "emulator/physical.h"

namespace cuvmm::emulator {

/// The memory becomes one of its own with the same contents: what was to be shared is not.
void unshare(Physical& memory);

}  // namespace cuvmm::emulator
