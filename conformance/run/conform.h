// SPDX-License-Identifier: Apache-2.0
// Judges a driver's answers: a status per case, with the evidence.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/record/record.h"
#include "conformance/run/known_facts.h"
#include "conformance/suite/case.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

enum class CaseStatus : std::uint8_t {
  kPass,  ///< every statement answers as documented
  /// A call that breaks a rule answers differently than documented, or any call shows a known fact
  /// of this driver.
  kDeviation,
  kNotSupported,  ///< not run: the machine does not meet the case's needs
  kCrash,         ///< a call ended the process
  kTimeout,       ///< a call did not come back
  kFail,          ///< a legal call, or a value, is wrong; or the family's legal call fails
  kWaived,        ///< would be a deviation, crash, timeout or failure, but a waiver gives a reason
  kCount
};
/// "pass", "deviation", "not-supported", "crash", "timeout", "fail", "waived".
const char* name(CaseStatus status);

/// One statement, with its expected and observed answers.
struct StatementResult {
  std::string call;      ///< program text, without its comment
  std::string expected;  ///< "CUDA_SUCCESS =3"; several allowed answers joined by " or "
  std::string observed;  ///< an outcome's text
  std::vector<std::string> breaks;
  bool as_expected = false;
};

struct CaseResult {
  const Case* test_case = nullptr;
  CaseStatus status = CaseStatus::kPass;
  std::string reason;  ///< one sentence; "" for a pass
  /// A recorded driver profile, or a fact of this driver, predicts this answer.
  bool known = false;
  /// The case breaks no rule up to the wrong statement, so nothing excuses the driver.
  bool legal = false;
  std::string waiver;  ///< the waiver's reason; also set for a pass although the case has a waiver
  bool unexpected_pass = false;
  std::vector<StatementResult> statements;
};

/// "NAME REASON" per line, NAME may hold * and ?; # starts a comment.
class CaseWaivers {
 public:
  /// The first mistake in the text, "FILE:LINE:COLUMN: expected ..."; "" if there is none.
  std::string parse(const std::string& text, const std::string& file);
  /// The reason of the first waiver that names the case; "" if there is none.
  std::string reason(const std::string& name) const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

struct ConformInput {
  const std::vector<Case>* cases = nullptr;
  const Recording* recording = nullptr;
  const Profile* known = nullptr;  ///< the recorded profile of this driver; null if there is none
  const CaseWaivers* waivers = nullptr;
  const KnownFacts* facts = nullptr;  ///< of this driver; may be null
};

/// One result per case that the recording has or skipped, in the order of the cases.
std::vector<CaseResult> judge_cases(const ConformInput& input);

/// The number of results of each status.
std::array<int, static_cast<std::size_t>(CaseStatus::kCount)> count(
    const std::vector<CaseResult>& results);

/// Whether `text` matches a pattern of *, ? and plain characters.
bool matches_pattern(const std::string& pattern, const std::string& text);

}  // namespace cuvmm::conformance
