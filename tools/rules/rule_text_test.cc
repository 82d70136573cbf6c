// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_text.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tools/rules/rule_facts.h"

namespace cuvmm::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(ExplainText, HoldsEveryFieldOfTheCatalogue) {
  const RuleInfo& it = info(Rule::kMapOffsetZero);
  const std::string text = explain_text(it.rule);
  EXPECT_THAT(text, StartsWith("cuMemMap-offset-zero (error)\n"));
  EXPECT_THAT(text, HasSubstr(it.requirement));
  EXPECT_THAT(text, HasSubstr("cuMemMap, parameter offset"));
  EXPECT_THAT(text, HasSubstr("CUDA_ERROR_INVALID_VALUE (in the function's list"));
  EXPECT_THAT(text, HasSubstr("CUDA 10.2"));
  EXPECT_THAT(text, HasSubstr(it.fix));
  EXPECT_THAT(text, Not(HasSubstr("\n  page ")));
  EXPECT_THAT(explain_text(it.rule, "/usr/share/doc/cuvmm"),
              HasSubstr(" /usr/share/doc/cuvmm/rules/map.md#cuMemMap-offset-zero\n"));
  for (const DriverBehaviour& driver : driver_behaviours(it.rule)) {
    EXPECT_THAT(text, HasSubstr(driver.profile + ": answers " + driver.answer));
  }
}

TEST(ExplainText, NoLineIsWiderThanATerminalUnlessOneWordIs) {
  for (const RuleInfo& it : rules()) {
    const std::string text = explain_text(it.rule);
    const std::string before_example = text.substr(0, text.find("\n  A program"));
    std::istringstream lines(before_example);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  page  ")) continue;  // the path of a page is one word
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

TEST(DriverBehaviours, TheH200RefusesAnOffsetWithAnotherCode) {
  const auto drivers = driver_behaviours(Rule::kMapOffsetZero);
  ASSERT_EQ(drivers.size(), 2u);
  EXPECT_EQ(drivers[0].profile, "h200-580.159.04");
  EXPECT_EQ(drivers[0].answer, "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(drivers[1].profile, "documented");
  EXPECT_EQ(drivers[1].answer, "CUDA_ERROR_INVALID_VALUE");
}

TEST(DriverBehaviours, NoneForLeaksAndWhatCannotBeChecked) {
  EXPECT_THAT(driver_behaviours(Rule::kMappingLeak), IsEmpty());
  EXPECT_THAT(driver_behaviours(Rule::kAsyncError), IsEmpty());
}

TEST(VersionText, AsCudaNamesItself) {
  EXPECT_EQ(version_text(10020), "10.2");
  EXPECT_EQ(version_text(12010), "12.1");
}

TEST(RulesJson, OneObjectPerRule) {
  const auto list = rules_json({Rule::kMapOffsetZero, Rule::kMappingLeak, Rule::kAsyncError});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["id"], "cuMemMap-offset-zero");
  EXPECT_EQ(list[0]["code"], "CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(list[0]["drivers"]["h200-580.159.04"], "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_TRUE(list[1]["code"].is_null());
  EXPECT_TRUE(list[2]["entry"].is_null());
  EXPECT_EQ(list[2]["checked"], false);
}

TEST(RulesPages, EveryUrlLeadsToAnAnchor) {
  const auto pages = rules_pages();
  for (const RuleInfo& it : rules()) {
    const std::string url = rule_url(it.rule);
    const std::string prefix = "docs/rules/";
    const std::size_t start = url.find(prefix) + prefix.size();
    const std::size_t hash = url.find('#');
    ASSERT_NE(hash, std::string::npos) << url;
    const auto page = pages.find(url.substr(start, hash - start));
    ASSERT_NE(page, pages.end()) << url;
    EXPECT_THAT(page->second, HasSubstr("<a id=\"" + url.substr(hash + 1) + "\">"));
  }
}

TEST(RulesPages, TheContentsListEveryRuleOnce) {
  const std::string page = rules_pages().at("README.md");
  const std::string contents = page.substr(0, page.find("\n## Questions\n"));
  for (const RuleInfo& it : rules()) {
    const std::string link = std::string("| [") + it.id + "](";
    const std::size_t first = contents.find(link);
    ASSERT_NE(first, std::string::npos) << it.id;
    EXPECT_EQ(contents.find(link, first + 1), std::string::npos) << it.id;
  }
}

TEST(RulesPages, QuestionsAndForbiddenCallsAreListedWithTheirReasons) {
  const std::string page = rules_pages().at("README.md");
  const std::size_t questions = page.find("\n## Questions\n");
  const std::size_t accepted = page.find("\n## Errors that a driver accepts\n");
  ASSERT_LT(questions, accepted);
  ASSERT_NE(accepted, std::string::npos);
  for (const RuleInfo& it : rules()) {
    const std::string link = std::string("| [") + it.id + "](";
    const std::size_t question = page.find(link, questions);
    EXPECT_EQ(question < accepted, it.question) << it.id;
    EXPECT_EQ(page.find(link, accepted) != std::string::npos, why_forbidden(it.rule) != nullptr)
        << it.id;
  }
}

TEST(RulesMarkdown, HoldsOnlyWhatWasChosen) {
  const std::string text = rules_markdown({Rule::kMapOffsetZero});
  EXPECT_THAT(text, HasSubstr("<a id=\"cuMemMap-offset-zero\">"));
  EXPECT_THAT(text, Not(HasSubstr("cuMemMap-flags-zero")));
}

}  // namespace
}  // namespace cuvmm::tools
