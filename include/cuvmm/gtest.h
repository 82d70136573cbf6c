// SPDX-License-Identifier: Apache-2.0
// GoogleTest under cuvmm: findings and leaks fail the test that caused them
// (docs/testing/README.md).
//
//   #include <cuvmm/gtest.h>
//   CUVMM_LISTEN_TO_TESTS;   // once, in any source of the test program
//
// Does nothing if the shim is not in the process. C++11 and newer.
#ifndef CUVMM_GTEST_H_
#define CUVMM_GTEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuvmm/cuvmm.h"

namespace cuvmm {

/// Fails a test that caused findings of cuvmm, with the text of each finding.
class TestListener : public ::testing::EmptyTestEventListener {
 public:
  /// `leak_flags` are those of cuvmm_leaks: CUVMM_LEAKS_ALIVE also finds objects in use that a test
  /// left behind.
  explicit TestListener(unsigned leak_flags = 0) : leak_flags_(leak_flags) {}

  void OnTestStart(const ::testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    // Quiet, because the failure has the text.
    scope_ = cuvmm_scope_open(name.c_str(), CUVMM_SCOPE_QUIET);
    mark_ = cuvmm_mark();
  }

  void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
    if (!cuvmm_active()) return;
    cuvmm_leaks(mark_, leak_flags_);
    const long found = cuvmm_count(mark_, nullptr);
    const std::string text = found > 0 ? texts_since(mark_) : std::string();
    cuvmm_scope_close(scope_);
    if (found > 0) {
      ADD_FAILURE() << "cuvmm: " << found << (found == 1 ? " finding" : " findings") << "\n\n"
                    << text;
    }
  }

 private:
  static std::string texts_since(long mark) {
    const long length = cuvmm_findings(mark, nullptr, 0);
    if (length <= 0) return std::string();
    std::vector<char> json(static_cast<std::size_t>(length) + 1);
    if (cuvmm_findings(mark, json.data(), json.size()) <= 0) return std::string();
    return texts_of(json.data());
  }

  /// The values of the members "text", joined by newlines. Each finding's last member is "text",
  /// and only the shim's own JSON comes here.
  static std::string texts_of(const std::string& json) {
    static const char kKey[] = "\"text\":\"";
    std::string all;
    for (std::size_t at = json.find(kKey); at != std::string::npos; at = json.find(kKey, at)) {
      at += sizeof kKey - 1;
      while (at < json.size() && json[at] != '"') all += next_letter(json, at);
      all += '\n';
    }
    return all;
  }

  /// The letter at `at`. Moves `at` behind it.
  static char next_letter(const std::string& json, std::size_t& at) {
    if (json[at] != '\\' || at + 1 >= json.size()) return json[at++];
    const char kind = json[at + 1];
    at += 2;
    if (kind == 'n') return '\n';
    if (kind != 'u' || at + 4 > json.size()) return kind;
    const unsigned long code = std::strtoul(json.substr(at, 4).c_str(), nullptr, 16);
    at += 4;
    return code < 0x80 ? static_cast<char>(code) : '?';  // the shim escapes control characters only
  }

  const unsigned leak_flags_;
  long scope_ = 0;
  long mark_ = 0;
};

/// Adds a listener to this program's tests; GoogleTest owns it. Call it before RUN_ALL_TESTS().
inline bool listen_to_tests(unsigned leak_flags = 0) {
  ::testing::UnitTest::GetInstance()->listeners().Append(new TestListener(leak_flags));
  return true;
}

}  // namespace cuvmm

/// The same before main(), for programs that link gtest_main.
#define CUVMM_LISTEN_TO_TESTS \
  static const bool cuvmm_listens_to_tests_ __attribute__((unused)) = ::cuvmm::listen_to_tests()

#endif  // CUVMM_GTEST_H_
