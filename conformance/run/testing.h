// SPDX-License-Identifier: Apache-2.0
// Functions that the table tests use: the corpus, one run of it per configuration, waivers.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "conformance/record/record.h"

namespace cuvmm::conformance {
/// GoogleTest prints a parameter by its name.
inline void PrintTo(const Case& test_case, std::ostream* out) { *out << test_case.name; }
}  // namespace cuvmm::conformance

namespace cuvmm::conformance::testing_support {

/// Every case of conformance/cases; aborts on a mistake in them.
const std::vector<Case>& corpus();
/// The case of a test parameter.
std::string test_name(const ::testing::TestParamInfo<Case>& info);

/// Variables for a run of cuvmm-record, in addition to the caller's environment.
using Environment = std::map<std::string, std::string>;

/// The output of cuvmm-record with these arguments. Fails the current test if cuvmm-record fails.
std::string run_recorder(const Environment& environment, const std::string& arguments);

/// Runs cuvmm-record on all cases with 1 and with 2 devices, and joins the answers: each case with
/// the number of devices that it needs. Fails the current test if it cannot run.
Recording run_corpus(const Environment& environment, const std::string& driver);

/// "NAME REASON" per line: cases that are known to fail a test, and why. A listed case that passes
/// is a failure, too.
class Waivers {
 public:
  explicit Waivers(const std::string& file);
  /// The reason, or "".
  std::string reason(const std::string& name) const;
  /// Passes if `mistakes` is empty and the case is not waived, or if there are mistakes and it is
  /// waived.
  void judge(const std::string& name, const std::string& mistakes) const;

 private:
  std::map<std::string, std::string> reasons_;
};

/// Whether all rules that the statement breaks are advice, so that the documentation leaves the
/// answer open.
bool only_advice(const Statement& statement);

/// The result name of an outcome text: "CUDA_SUCCESS" of "CUDA_SUCCESS =3".
std::string code_of(const std::string& outcome);

}  // namespace cuvmm::conformance::testing_support
