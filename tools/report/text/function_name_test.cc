// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/function_name.h"

#include <gtest/gtest.h>

namespace cuvmm::tools {
namespace {

const std::string kLong(130, 'x');

TEST(FunctionName, AShortOneStays) {
  EXPECT_EQ(brief_function("grow<std::vector<int>>(Pool&)"), "grow<std::vector<int>>(Pool&)");
  EXPECT_EQ(brief_function(""), "");
}

TEST(FunctionName, TemplateArgumentsGoFirst) {
  EXPECT_EQ(brief_function("c10::impl::wrap_<c10::detail::Function_<" + kLong +
                           ">, c10::List<int>>::call(Kernel*, long)"),
            "c10::impl::wrap_<...>::call(Kernel*, long)");
  EXPECT_EQ(brief_function("a<" + kLong + ">::b<int>(c<" + kLong + ">)"), "a<...>::b<int>(c<...>)");
}

TEST(FunctionName, ThenParameters) {
  EXPECT_EQ(brief_function("at::(anonymous namespace)::empty(" + kLong + ", long) const"),
            "at::(anonymous namespace)::empty(...) const");
}

TEST(FunctionName, SignsOfOperatorsAreNoBrackets) {
  EXPECT_EQ(brief_function("std::operator<< <" + kLong + ">(std::ostream&)"),
            "std::operator<< <...>(std::ostream&)");
  EXPECT_EQ(brief_function("my_operator<" + kLong + ">::operator->() const"),
            "my_operator<...>::operator->() const");
  EXPECT_EQ(brief_function("f<(a < " + kLong + ")>(int)"), "f<...>(int)");
  EXPECT_EQ(brief_function("operator()<" + kLong + ">(int)"), "operator()<...>(int)");
}

TEST(FunctionName, WhatNeverClosesStays) {
  EXPECT_EQ(brief_function("f<" + kLong), "f<" + kLong);
  EXPECT_EQ(brief_function("f>" + kLong + ")"), "f>" + kLong + ")");
  EXPECT_EQ(brief_function(kLong), kLong);
}

}  // namespace
}  // namespace cuvmm::tools
