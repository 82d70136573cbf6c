// SPDX-License-Identifier: Apache-2.0
// The kind of memory that an address belongs to: by the model, and by the driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "rulebook/model/model.h"
#include "rulebook/order/host_wait.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// nullopt if the model does not know the address. A mapping that the host may access counts as
/// memory of the host.
std::optional<Place> known_place(const Model& model, std::uint64_t address);

struct PlaceInDriver {
  Place place = Place::kUnknown;
  bool sync_memops = false;  ///< CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set for the memory
};

/// kPageable for an address that the driver does not know; kUnknown if the driver has no such
/// query.
PlaceInDriver ask_place(const Questions& ask, CUdeviceptr address);

/// Whether the current context has CU_CTX_SYNC_MEMOPS; false if the driver has no such flag.
bool context_has_sync_memops(const Questions& ask);

}  // namespace cuvmm::shim
