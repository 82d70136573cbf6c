// SPDX-License-Identifier: Apache-2.0
#include "tools/installation/layout.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tools/base/temporary_folder.h"
#include "tools/installation/install_paths.h"

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

class LayoutTest : public testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder_;
  fs::path bin_ = fs::path(folder_.path()) / "bin";
  fs::path lib_ = (bin_ / GetParam()).lexically_normal();
};

TEST_P(LayoutTest, FindsTheLibrariesNextToTheCommand) {
  for (const char* file :
       {"libcuvmm-shim.so", "links/libcuda.so", "links/libcuda.so.1", "emulator/libcuda.so.1"}) {
    touch(lib_ / file);
  }
  const LayoutResult result = find_layout(bin_.string());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.layout.shim, (lib_ / "libcuvmm-shim.so").string());
  EXPECT_EQ(result.layout.links, (lib_ / "links").string());
  EXPECT_EQ(result.layout.emulator, (lib_ / "emulator/libcuda.so.1").string());
}

TEST_P(LayoutTest, NamesThePartThatIsMissing) {
  touch(lib_ / "libcuvmm-shim.so");
  touch(lib_ / "links/libcuda.so");
  touch(lib_ / "links/libcuda.so.1");
  EXPECT_THAT(find_layout(bin_.string()).error, HasSubstr("emulator/libcuda.so.1"));
}

TEST_P(LayoutTest, AWheelHasNoFolderOfLinks) {
  touch(lib_ / "libcuvmm-shim.so");
  touch(lib_ / "emulator/libcuda.so.1");
  const LayoutResult result = find_layout(bin_.string());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.layout.links, "");
}

TEST_P(LayoutTest, NamesEveryPlaceWhenNothingIsThere) {
  EXPECT_THAT(find_layout(bin_.string()).error, HasSubstr((lib_ / "libcuvmm-shim.so").string()));
}

INSTANTIATE_TEST_SUITE_P(BuildTreeAndInstalled, LayoutTest,
                         testing::Values("../lib", kInstalledPrivateFolder));

}  // namespace
}  // namespace cuvmm::tools
