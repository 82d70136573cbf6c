// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/xml_text.h"

#include <gtest/gtest.h>

namespace cuvmm {
namespace {

constexpr const char* kNone = "\xef\xbf\xbd";

TEST(XmlText, MarksAndLinesAreWrittenAsReferences) {
  EXPECT_EQ(xml_text("a<b> & \"c\"\n\t\r"), "a&lt;b&gt; &amp; &quot;c&quot;&#10;&#9;&#13;");
  EXPECT_EQ(xml_text(""), "");
}

TEST(XmlText, OtherLettersStay) {
  for (const char* text : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x7f"}) {
    EXPECT_EQ(xml_text(text), text);
  }
}

TEST(XmlText, WhatXmlCannotHoldIsReplaced) {
  for (const char* text : {"\x1b", "\x01", "\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    EXPECT_EQ(xml_text(text), kNone);
  }
  EXPECT_EQ(xml_text(std::string_view("\0", 1)), kNone);
}

TEST(XmlText, BytesThatAreNoUtf8AreReplacedOneByOne) {
  const std::string two = std::string(kNone) + kNone, three = two + kNone;
  EXPECT_EQ(xml_text("a\xff\x62"), std::string("a") + kNone + "b");
  EXPECT_EQ(xml_text("\xc3"), kNone) << "cut off";
  EXPECT_EQ(xml_text("\xe2\x82"), two) << "cut off";
  EXPECT_EQ(xml_text("\xc0\xaf"), two) << "longer than it needs";
  EXPECT_EQ(xml_text("\xe0\x80\xaf"), three) << "longer than it needs";
  EXPECT_EQ(xml_text("\xed\xa0\x80"), three) << "half a pair";
  EXPECT_EQ(xml_text("\xc3<"), std::string(kNone) + "&lt;");
}

}  // namespace
}  // namespace cuvmm
