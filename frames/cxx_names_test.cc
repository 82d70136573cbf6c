// SPDX-License-Identifier: Apache-2.0
#include "frames/cxx_names.h"

#include <gtest/gtest.h>

namespace cuvmm::frames {
namespace {

TEST(CxxNames, AreDemangled) {
  EXPECT_EQ(demangled("_Z4filli"), "fill(int)");
  EXPECT_EQ(demangled("cuMemMap"), "cuMemMap");
  EXPECT_EQ(demangled("__libc_start_main@@GLIBC_2.34"), "__libc_start_main");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangled(""), "");
}

TEST(CxxNames, WithoutWhatNobodyWrites) {
  EXPECT_EQ(shortened("f(std::__cxx11::basic_string<char, std::char_traits<char>, "
                      "std::allocator<char> > const&)"),
            "f(std::string const&)");
  EXPECT_EQ(shortened("g(std::vector<int, std::allocator<int> >)"), "g(std::vector<int>)");
  EXPECT_EQ(shortened("h(std::map<int, std::vector<A, std::allocator<A> >, std::less<int>, "
                      "std::allocator<std::pair<int const, std::vector<A, std::allocator<A> > > > "
                      ">)"),
            "h(std::map<int, std::vector<A>>)");
  EXPECT_EQ(shortened("i(std::unique_ptr<A, std::default_delete<A> >)"), "i(std::unique_ptr<A>)");
  EXPECT_EQ(shortened("std::__cxx11::to_string[abi:cxx11](int)"), "std::to_string(int)");
}

TEST(CxxNames, WhatSomebodyWroteStays) {
  for (const char* name : {"f(int)", "g(std::vector<int, mine::allocator<int>>)", "",
                           "std::allocator<int>::allocate(unsigned long)",
                           "h(std::pair<int, std::less<int>, long>)", "i(a, std::allocator<"}) {
    EXPECT_EQ(shortened(name), name);
  }
}

}  // namespace
}  // namespace cuvmm::frames
