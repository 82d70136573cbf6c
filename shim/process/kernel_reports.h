// SPDX-License-Identifier: Apache-2.0
// The findings about kernels, which the emulator tells the shim (api/kernel_report.h).
#pragma once

#include <map>

#include "api/kernel_report.h"
#include "api/symbols/symbols.h"
#include "shim/base/owned_mutex.h"
#include "shim/findings/finding.h"

namespace cuvmm::shim {

class Session;

/// Thread-safe.
class KernelReports {
 public:
  KernelReports(TakeKernelReport* take, LastLaunch* last, Session& session, FindingSink& sink)
      : take_(take), last_(last), session_(session), sink_(sink) {}

  /// The driver has answered a call that may have launched kernels, or run earlier launches.
  void after(EntryPoint entry, const Caller& caller) noexcept;
  /// Takes what is left when the process ends.
  void rest() noexcept;

 private:
  struct Launch {
    EntryPoint entry = EntryPoint::kCount;
    Origin origin;
  };
  void take_all(const Launch& here);

  TakeKernelReport* const take_;
  LastLaunch* const last_;
  Session& session_;
  FindingSink& sink_;
  OwnedMutex mutex_;
  std::map<std::uint64_t, Launch> launches_ CUVMM_GUARDED_BY(mutex_);  ///< the last of them
};

}  // namespace cuvmm::shim
