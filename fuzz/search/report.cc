// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/report.h"

#include <algorithm>
#include <fstream>

#include "program/c/c_source.h"

namespace cuvmm::fuzz {

using program::CSource;
using program::format_error;
using program::parse_program;
using program::ParsedProgram;
using program::write_c;

std::string test_case(const std::string& title, const std::string& text) {
  return "TEST(FuzzRegression, " + title + ") {\n  EXPECT_EQ(disagreement(R\"(" + text +
         ")\"), \"\");\n}\n";
}

std::string report(const Target& target, const Finding& finding, const std::string& folder,
                   const std::string& name) {
  const std::string stem = folder + "/" + name;
  const std::string text = annotated_text(target, finding.ops);
  std::string title = "Found";
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) title += c;
  }
  std::string out = "finding: " + finding.problem + "\n\n" + text + "\n";
  std::ofstream program(stem + ".cuvmm");
  program << text;
  program.close();
  if (!program) return out + "cannot write " + stem + ".cuvmm\n";
  out += "replay: cuvmm-fuzz --driver " + target.driver + (target.shim ? " --judge shim" : "") +
         (target.options.multicast ? " --multicast yes" : "") + " --replay " + stem + ".cuvmm\n";
  const bool multicast = std::any_of(finding.ops.begin(), finding.ops.end(),
                                     [](const Op& op) { return is_multicast(op.code); });
  if (multicast) {
    out += "no C: multicast is for the emulator alone\n";
    return out + "test (fuzz/search/regression_test.cc):\n" + test_case(title, text);
  }
  const ParsedProgram parsed = parse_program(text);
  const CSource c = write_c(parsed.program, stem + ".cuvmm");
  if (c.error.empty() && parsed.errors.empty()) {
    std::ofstream file(stem + ".c");
    file << c.text;
    out += "C: " + stem + ".c (cc " + stem + ".c -lcuda)\n";
  } else {
    out +=
        "no C: " + (c.error.empty() ? format_error(parsed.errors.front(), stem) : c.error) + "\n";
  }
  if (processes_of(finding.ops) > 1) {
    return out + "test: once it is mended, put what cuvmm-fuzz --annotate " + stem +
           ".cuvmm prints into fuzz/corpus/processes\n";
  }
  return out + "test (fuzz/search/regression_test.cc):\n" + test_case(title, text);
}

}  // namespace cuvmm::fuzz
