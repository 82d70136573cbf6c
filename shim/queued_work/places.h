// SPDX-License-Identifier: Apache-2.0
// What kind of memory an address is of: by the model, and by the driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "rulebook/model/model.h"
#include "rulebook/order/host_wait.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// Nothing where the model does not know. A mapping that the host may access counts as the host's.
std::optional<Place> known_place(const Model& model, std::uint64_t address);

struct AskedPlace {
  Place place = Place::kUnknown;
  bool sync_memops = false;  ///< CU_POINTER_ATTRIBUTE_SYNC_MEMOPS was set for it
};

/// kPageable for an address that the driver does not know; kUnknown where it cannot be asked.
AskedPlace ask_place(const Questions& ask, CUdeviceptr address);

/// Whether the current context has CU_CTX_SYNC_MEMOPS; false where the driver has no such flag.
bool context_has_sync_memops(const Questions& ask);

}  // namespace cuvmm::shim
