// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of one call.
#pragma once

#include <algorithm>

#include "rulebook/profile/profile.h"

namespace cuvmm::fuzz {

/// The reference's opinion of one call, before the call is made.
struct Judgement {
  static constexpr int kMost = 24;
  Rule broken[kMost];  ///< all rules that the call breaks, in no order
  int count = 0;
  bool foreign = false;       ///< touches memory outside of the program: any error is right
  bool ended_memory = false;  ///< touches memory that ended, or bytes behind it: any error is right
  bool may_refuse = false;    ///< INVALID_VALUE is right as well
  bool may_run_out = false;   ///< OUT_OF_MEMORY is right as well
  bool memory_may_lack =
      false;  ///< OUT_OF_MEMORY is right where the profile has nothing against the call
  bool may_succeed = false;  ///< CUDA_SUCCESS is right as well
  bool fatal = false;  ///< a real driver or its machine dies in the call, although no rule says so
  Quirk quirks[4];     ///< reasons of the driver against the call, beside the rules
  int quirk_count = 0;
  /// The call must not be made, because the reference cannot follow its effect (another process
  /// would get an object that only the first process knows; too much memory for the cells).
  bool uncovered = false;
  /// The call uses a descriptor of another process's export, or an imported endpoint, which no shim
  /// saw made.
  bool unseen = false;
  /// The call touches imported memory of a pool on the host, whose extent the shim cannot learn: an
  /// H200 says that it begins at 0.
  bool host_import = false;
  bool loose = false;          ///< no document says the result: any answer is right
  bool unpredictable = false;  ///< two drivers may differ in the rest of the program

  /// Answers that a document or a record gives, where no rule of the catalogue does.
  CUresult demanded[4];
  int demanded_count = 0;

  void demand(CUresult answer) { demanded[demanded_count++] = answer; }
  bool demands() const { return demanded_count != 0; }
  void add(Rule rule) {
    if (count < kMost && !breaks(rule)) broken[count++] = rule;
  }
  void add(Quirk quirk) {
    if (!has(quirk)) quirks[quirk_count++] = quirk;
  }
  bool has(Quirk quirk) const {
    return std::find(quirks, quirks + quirk_count, quirk) != quirks + quirk_count;
  }
  bool breaks(Rule rule) const;
  /// Whether the call breaks no rule that is more than advice.
  bool legal() const;
  /// Whether every driver accepts the call.
  bool sure() const {
    return legal() && quirk_count == 0 && !ended_memory && !loose && !may_refuse;
  }
  /// Whether a driver with this profile may give this answer.
  bool accepts(const Profile& profile, EntryPoint entry, CUresult answer) const;
  /// Whether the profile's driver dies in this call.
  bool crashes(const Profile& profile, EntryPoint entry) const;
  /// Whether a real driver may die in the call, read freed memory, or change memory outside of the
  /// program.
  bool dangerous(const Profile& profile, EntryPoint entry) const;
};

/// The caller: the device of the thread's current context, -1 without one, and the thread.
struct Actor {
  int device = 0;
  int thread = 0;
};

}  // namespace cuvmm::fuzz
