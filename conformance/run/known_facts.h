// SPDX-License-Identifier: Apache-2.0
// Answers of recorded drivers that no rule explains. Each such fact has its reason.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "conformance/record/recording.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

/// The facts of one driver. "CASE:STATEMENT | ANSWER | REASON" per line; # starts a comment.
class KnownFacts {
 public:
  /// The first mistake in the text, "FILE:LINE:COLUMN: expected ..."; "" if there is none.
  std::string parse(const std::string& text, const std::string& file);
  /// The reason why the driver gives this answer to the case's statement (the first is 0); "" if
  /// none is known.
  std::string reason(const std::string& test_case, std::size_t statement,
                     const std::string& answer) const;

  struct Fact {
    std::string answer;  ///< an outcome's text: "CUDA_SUCCESS =0"
    std::string reason;
  };
  /// A statement that uses an ended object has several answers, one per fact.
  using Facts = std::multimap<std::pair<std::string, std::size_t>, Fact>;
  const Facts& all() const { return facts_; }

 private:
  Facts facts_;
};

/// The recorded profile of the driver that ran, or that the emulator ran as; nothing if there is
/// none. A driver answers alike on its GPUs unless a recording shows otherwise, so a GPU without a
/// profile of its own has that of another GPU with this driver.
std::optional<Profile> known_profile(const Recording& recording);

/// The built-in facts of this driver ("580.159.04") on all GPUs; none if there are none.
KnownFacts known_facts(const std::string& driver);

}  // namespace cuvmm::conformance
