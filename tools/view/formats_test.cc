// SPDX-License-Identifier: Apache-2.0
#include "tools/view/formats.h"

#include <gtest/gtest.h>

#include "tools/report/text/finding_text.h"
#include "tools/view/baseline.h"
#include "tools/view/encode/pickle.h"
#include "tools/view/encode/protobuf.h"

namespace cuvmm::tools {
namespace {

Json finding(const std::string& function, int line) {
  return {{"rule", "cuMemMap-offset-zero"},
          {"kind", "error"},
          {"call", "cuMemMap"},
          {"message", "offset is 1, not 0"},
          {"count", 1u},
          {"stack",
           {{{"function", function},
             {"module", "/a/b.so"},
             {"offset", 5u},
             {"file", "f.c"},
             {"line", line}}}},
          {"objects", Json::array()}};
}

TEST(ReportFormats, TheNameChoosesTheFormat) {
  EXPECT_EQ(format_of("a/b.json"), ReportFormat::kJson);
  EXPECT_EQ(format_of("a.html"), ReportFormat::kHtml);
  EXPECT_EQ(format_of("a.b.sarif"), ReportFormat::kSarif);
  EXPECT_EQ(format_of("x.junit.xml"), ReportFormat::kJunit);
  EXPECT_EQ(format_of("x.perfetto-trace"), ReportFormat::kPerfetto);
  EXPECT_EQ(format_of("x.snapshot.pickle"), ReportFormat::kSnapshot);
  EXPECT_EQ(format_of("/dev/stdout"), ReportFormat::kJson);
  EXPECT_EQ(format_of("folder.html/report"), ReportFormat::kJson);
  EXPECT_EQ(format_of("x.xml"), ReportFormat::kUnknown);
  EXPECT_EQ(format_of("x.pickle"), ReportFormat::kUnknown);
}

TEST(ReportFormats, AFingerprintIsThePlaceAndTheRule) {
  const std::string here = fingerprint(finding("grow", 10));
  EXPECT_EQ(here.size(), 16u);
  EXPECT_EQ(here, fingerprint(finding("grow", 11)));
  EXPECT_NE(here, fingerprint(finding("shrink", 10)));
  // Fingerprints stand in baselines that users keep. A change of the hash would make all their
  // findings new.
  EXPECT_EQ(here, fingerprint(Json::parse(finding("grow", 10).dump())));
  Json other = finding("grow", 10);
  other["rule"] = "cuMemMap-flags-zero";
  EXPECT_NE(here, fingerprint(other));
}

TEST(ReportFormats, ALeakIsToldByWhoMadeItsObject) {
  const auto leak = [](const char* maker) {
    Json one = finding("", 0);
    one["stack"] = Json::array();
    one["objects"] = {{{"what", "allocation"}, {"stack", finding(maker, 1)["stack"]}}};
    return fingerprint(one);
  };
  EXPECT_NE(leak("a"), leak("b"));
  EXPECT_EQ(leak("a"), leak("a"));
}

TEST(ReportFormats, APlaceIsTheProgramsAndNotTheInterpreters) {
  const auto frame = [](const char* module, const char* file) {
    return Json{{"function", "f"}, {"module", module}, {"offset", 1u}, {"file", file}};
  };
  const Json native = frame("/lib/libtorch.so", ""),
             interpreter = frame("/lib/libpython3.11.so.1.0", "ceval.c"),
             program = frame("/usr/bin/python3.11", "ceval.c"),
             ctypes = frame("/x/_ctypes.cpython-311.so", "cfield.c"),
             python = {
                 {"function", "main"}, {"module", ""}, {"file", "a.py"}, {"language", "python"}};
  const auto site = [](const Json& stack) { return *site_of(stack); };
  EXPECT_EQ(site(Json::array({native, interpreter, program, ctypes, python})), python);
  EXPECT_EQ(site(Json::array({native, interpreter})), native);
  EXPECT_EQ(site_of(Json::array()), nullptr);
  EXPECT_EQ(*python_site_of(Json::array({native, interpreter, python})), python);
  EXPECT_EQ(python_site_of(Json::array({native, interpreter})), nullptr);
}

TEST(ReportFormats, WhatIsNewAgainstAnOlderReport) {
  Json now = {{"findings", {finding("old", 1), finding("fresh", 1)}}};
  const Json before = {{"findings", {finding("old", 7), finding("gone", 1)}}};
  const Against against = mark_against(now, before);
  EXPECT_EQ(against.fresh, 1u);
  EXPECT_EQ(against.unchanged, 1u);
  EXPECT_EQ(against.absent, 1u);
  EXPECT_EQ(now["findings"][0]["baseline"], "unchanged");
  EXPECT_EQ(now["findings"][1]["baseline"], "new");
}

TEST(ReportFormats, NoTextEndsTheScriptOfThePage) {
  Json hostile = finding("</script><script>alert(1)</script>", 1);
  hostile["message"] = "<!--<script>";
  const Json report = {{"findings", {hostile}}};
  const std::string page = render(report, ReportFormat::kHtml);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
  EXPECT_EQ(page.find("://"), std::string::npos);  // the page names no web address
}

TEST(ReportFormats, XmlHasNoCharacterThatItForbids) {
  Json odd = finding("a\x01<&\"", 1);
  odd["message"] = "\x1b[31m\xef\xbf\xbf";
  const std::string xml = render({{"findings", {odd}}}, ReportFormat::kJunit);
  for (const char c : xml) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  EXPECT_EQ(xml.find("\xef\xbf\xbf"), std::string::npos);
  EXPECT_NE(xml.find("&lt;&amp;&quot;"), std::string::npos);
}

TEST(ReportFormats, JsonKeepsRowsOnOneLine) {
  const Json report = {{"schema", 1}, {"timeline", {{"processes", {{1, 2}, {3, 4}}}}}};
  const std::string text = report_text(report);
  EXPECT_EQ(Json::parse(text), report);
  EXPECT_NE(text.find("[[1,2],[3,4]]"), std::string::npos);
}

TEST(ReportFormats, ProtobufWire) {
  ProtobufMessage inner, outer;
  inner.number(1, 300);
  outer.message(2, inner);
  outer.text(3, "ab");
  outer.fixed64(4, 1);
  EXPECT_EQ(outer.bytes(), std::string("\x12\x03\x08\xac\x02\x1a\x02"
                                       "ab\x21\x01\0\0\0\0\0\0\0",
                                       18));
}

TEST(ReportFormats, PickleOpcodes) {
  Pickle pickle;
  pickle.begin_dict();
  pickle.member("a", 5);
  pickle.member("b", std::uint64_t{0xffffffff});
  pickle.end_dict();
  EXPECT_EQ(std::move(pickle).finish(), std::string("\x80\x02}(X\x01\0\0\0aJ\x05\0\0\0X\x01\0\0\0b"
                                                    "\x8a\x08\xff\xff\xff\xff\0\0\0\0u.",
                                                    33));
}

// One reader passes the items of a batch to one call, whose arguments must fit on its stack.
TEST(ReportFormats, PickleListsComeInBatches) {
  Pickle pickle;
  pickle.begin_list();
  for (int i = 0; i < 2500; ++i) {
    pickle.item();
    pickle.flag(true);
  }
  pickle.end_list();
  const std::string text = std::move(pickle).finish();
  std::size_t batches = 0;
  for (std::size_t at = text.find("e("); at != std::string::npos; at = text.find("e(", at + 1))
    ++batches;
  EXPECT_EQ(batches, 2u);
}

}  // namespace
}  // namespace cuvmm::tools
