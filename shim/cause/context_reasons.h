// SPDX-License-Identifier: Apache-2.0
// Likely reasons of refusals that concern contexts and devices, and graphs with memory nodes.
#pragma once

#include <optional>
#include <string>

#include "api/driver/driver.h"
#include "shim/cause/refused_arguments.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// A graph that has memory nodes, and a call that such a graph forbids.
std::optional<std::string> by_memory_nodes(const Questions& ask, const RefusedCall& call);

/// A stream or an event of another context than the call needs, and a context that is its own peer.
std::optional<std::string> by_contexts(const Driver& driver, const Questions& ask,
                                       const RefusedCall& call);

}  // namespace cuvmm::shim
