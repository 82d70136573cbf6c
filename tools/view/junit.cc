// SPDX-License-Identifier: Apache-2.0
#include "tools/view/junit.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

#include "conformance/run/xml_text.h"
#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

std::string name_of(const Json& finding) {
  std::string name = text_in(finding, "rule");
  const Json* const site = site_of(list_in(finding, "stack"));
  if (!site) return name;
  name += " in " + frame_text(*site).substr(0, 500);
  return name;
}

std::string test_case(const Json& finding) {
  std::string out = fmt::format("  <testcase classname=\"cuvmm.{}\" name=\"{}\">\n",
                                xml_text(text_in(finding, "call")), xml_text(name_of(finding)));
  const std::string text = finding_text(finding);
  if (is_mistake(finding)) {
    out += fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                       xml_text(text_in(finding, "kind")), xml_text(text_in(finding, "message")),
                       xml_text(text));
  } else {
    out += "    <system-out>" + xml_text(text) + "</system-out>\n";
  }
  return out + "  </testcase>\n";
}

}  // namespace

std::string junit_of(const Json& report) {
  std::string cases;
  std::size_t tests = 0, failures = 0;
  for (const Json& finding : list_in(report, "findings")) {
    ++tests;
    if (is_mistake(finding)) ++failures;
    cases += test_case(finding);
  }
  if (tests == 0) {
    tests = 1;
    cases = "  <testcase classname=\"cuvmm\" name=\"nothing was found\"/>\n";
  }
  std::string notes;
  for (const Json& note : list_in(report, "notes")) {
    if (note.is_string()) notes += note.get<std::string>() + "\n";
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\"", tests, failures);
  out +=
      fmt::format("<testsuites name=\"cuvmm\" {}>\n <testsuite name=\"cuvmm\" {} skipped=\"0\">\n",
                  counts, counts);
  out += cases;
  if (!notes.empty()) out += "  <system-err>" + xml_text(notes) + "</system-err>\n";
  return out + " </testsuite>\n</testsuites>\n";
}

}  // namespace cuvmm::tools
