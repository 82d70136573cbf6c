// SPDX-License-Identifier: Apache-2.0
#include "tools/report/json_documents.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonDocuments, TheLastWholeOneCounts) {
  EXPECT_EQ(find_json_documents("{\"a\":1}", false).last, "{\"a\":1}");
  const auto two = find_json_documents("{\"a\":1}\n {\"b\":[{}]} \n", false);
  EXPECT_EQ(two.last, "{\"b\":[{}]}");
  EXPECT_FALSE(two.torn);
}

TEST(JsonDocuments, BracesInStringsAreText) {
  for (const char* text : {R"({"a":"}"})", R"({"a":"\"}"})", R"({"a":"\\"})", R"({"{":"["})"}) {
    EXPECT_EQ(find_json_documents(text, false).last, text);
    EXPECT_FALSE(find_json_documents(text, false).torn) << text;
  }
}

TEST(JsonDocuments, ATornTailIsNamedAndLeftOut) {
  const std::string whole = R"({"a":1})";
  for (const char* tail : {"{", "{\"a", "{\"a\":[1,", "}", "x", "{]", "\x01"}) {
    const auto found = find_json_documents(whole + tail, false);
    EXPECT_EQ(found.last, whole) << tail;
    EXPECT_TRUE(found.torn) << tail;
  }
}

TEST(JsonDocuments, NothingWholeIsNothing) {
  for (const char* text : {"", " \n", "{", "[]", "7", "{\"a\":\"}"}) {
    EXPECT_EQ(find_json_documents(text, false).last, "") << text;
  }
  EXPECT_FALSE(find_json_documents("", false).torn);
}

TEST(JsonDocuments, WhatWasWrittenBehindATornOneIsFoundAgain) {
  const std::string first = R"({"schema":1,"pid":7})", last = R"({"schema":1,"pid":9})";
  for (const char* torn : {R"({"schema":1,"find)", R"({"schema":1,"findings":[{"a":"b\)", "{"}) {
    const auto found = find_json_documents(first + torn + last, true);
    EXPECT_EQ(found.last, last) << torn;
    EXPECT_TRUE(found.torn);
  }
}

TEST(JsonDocuments, LimitsHoldForTheDocumentThatCounts) {
  constexpr JsonLimits kLimits{.depth = 5, .members = 3, .values = 100};
  const auto excess = [&](const std::string& text) {
    return find_json_documents(text, false, kLimits).excess;
  };
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + repeated("[", depth - 1) + repeated("]", depth - 1) + "}";
  };
  EXPECT_EQ(excess(nested(5)), "");
  EXPECT_EQ(excess(nested(6)), "it is nested deeper than 5");
  EXPECT_EQ(excess(nested(90)), "it is nested deeper than 5");
  EXPECT_EQ(excess(nested(90) + "{}"), "");
  const auto wide = [](std::size_t members) {
    return "{" + repeated("\"a\":1,", members - 1) + "\"a\":1}";
  };
  EXPECT_EQ(excess(wide(3)), "");
  EXPECT_EQ(excess(wide(4)), "an object has more than 3 members");
  EXPECT_EQ(excess("{\"a\":[" + repeated("1,", 50) + "1]}"), "");
  EXPECT_EQ(excess("{\"a\":[" + repeated("1,", 100) + "1]}"), "it holds more than 100 values");
}

}  // namespace
}  // namespace cuvmm::tools
