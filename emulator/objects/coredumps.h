// SPDX-License-Identifier: Apache-2.0
// What programs set about core dumps. How that is asked and changed: coredump.cc.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "emulator/objects/context.h"

namespace cuvmm::emulator {

struct CoredumpSetting {
  int number = 0;  ///< of a flag, or flags
  std::string text{};
};

/// By the number of their CUcoredumpSettings; the caller holds the emulator's lock.
class Coredumps {
 public:
  /// What was set for a context, or else for all of them; null: neither.
  const CoredumpSetting* find(int which, const Context* context) const;
  /// For all contexts where `context` is null.
  void set(int which, const Context* context, CoredumpSetting setting);

 private:
  std::map<std::pair<const Context*, int>, CoredumpSetting> all_;
};

}  // namespace cuvmm::emulator
