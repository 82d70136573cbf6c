// SPDX-License-Identifier: Apache-2.0
// The settings of core dumps that programs make. coredump.cc has the calls that read and change
// them.
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

/// The settings by the number of their CUcoredumpSettings; the caller holds the emulator's lock.
class Coredumps {
 public:
  /// The setting of a context, or else that of all contexts; null: neither was set.
  const CoredumpSetting* find(int which, const Context* context) const;
  /// Sets it for all contexts where `context` is null.
  void set(int which, const Context* context, CoredumpSetting setting);

 private:
  std::map<std::pair<const Context*, int>, CoredumpSetting> all_;
};

}  // namespace cuvmm::emulator
