// SPDX-License-Identifier: Apache-2.0
// The work of a signal of external semaphores, and of a wait for them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/core/emulator.h"
#include "emulator/core/work.h"
#include "emulator/machine/semaphore.h"

namespace cuvmm::emulator {

/// A value that a wait expects of a semaphore, or that a signal gives it.
struct Fence {
  std::shared_ptr<Semaphore> semaphore;
  std::uint64_t value = 0;
};
using Fences = std::vector<Fence>;

CUresult signal_all(const Fences& fences);
/// NOT_READY where a semaphore has not got its signal; the next call goes on at `next`.
CUresult wait_for_all(Emulator& e, const Fences& fences, std::size_t& next);

/// The fences of a call or a node: the semaphores with their parameters. False for a handle that is
/// no semaphore.
template <class Params>
bool find_fences(const Emulator& e, const CUexternalSemaphore* semaphores, const Params* params,
                 std::size_t count, Fences& out) {
  for (std::size_t i = 0; i < count; ++i) {
    auto found = e.external.find(semaphores[i]);
    if (!found) return false;
    out.push_back({std::move(found), params[i].params.fence.value});
  }
  return true;
}

}  // namespace cuvmm::emulator
