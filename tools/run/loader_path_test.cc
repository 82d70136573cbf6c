// SPDX-License-Identifier: Apache-2.0
#include "tools/run/loader_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;

class LoaderPathTest : public testing::Test {
 protected:
  // A layout in a folder called `name`.
  Layout make(const std::string& name) {
    const std::string root = folder_.path() + "/" + name;
    fs::create_directories(root + "/links");
    fs::create_directories(root + "/emulator");
    const Layout layout = {root + "/libcuvmm-shim.so", root + "/links",
                           root + "/emulator/libcuda.so.1"};
    std::ofstream(layout.shim) << "shim";
    std::ofstream(layout.emulator) << "emulator";
    return layout;
  }
  TemporaryFolder folder_;
};

TEST_F(LoaderPathTest, WhatTheLoaderTakesStaysAsItIs) {
  const Layout layout = make("plain-1.2_x");
  const LoaderPath path(layout);
  EXPECT_EQ(path.layout().shim, layout.shim);
  EXPECT_EQ(path.layout().links, layout.links);
}

TEST_F(LoaderPathTest, OthersAreReachedThroughALink) {
  for (const char* name : {"a:b", "a b", "$LIB", "a;b", "${ORIGIN}"}) {
    const Layout layout = make(name);
    const LoaderPath path(layout);
    ASSERT_EQ(path.error(), "") << name;
    const Layout& linked = path.layout();
    for (const std::string& one : {linked.shim, linked.links, linked.emulator}) {
      EXPECT_TRUE(loader_takes(one)) << one;
    }
    EXPECT_TRUE(fs::equivalent(linked.shim, layout.shim));
    EXPECT_TRUE(fs::equivalent(linked.links, layout.links));
    EXPECT_TRUE(fs::equivalent(linked.emulator, layout.emulator));
  }
}

TEST_F(LoaderPathTest, ATemporaryFolderThatTheLoaderDoesNotTakeIsAvoided) {
  const Layout layout = make("a:b");
  const char* const before = getenv("TMPDIR");
  const std::string saved = before ? before : "";
  setenv("TMPDIR", (folder_.path() + "/a:b").c_str(), 1);
  std::string link;
  {
    const LoaderPath path(layout);
    EXPECT_EQ(path.error(), "");
    link = path.layout().shim;
    EXPECT_TRUE(loader_takes(link)) << link;
    EXPECT_TRUE(fs::exists(link));
  }
  before ? setenv("TMPDIR", saved.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_FALSE(fs::exists(link)) << "nothing is left behind";
  EXPECT_TRUE(fs::exists(layout.shim));
}

}  // namespace
}  // namespace cuvmm::tools
