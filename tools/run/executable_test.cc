// SPDX-License-Identifier: Apache-2.0
#include "tools/run/executable.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tools/base/temporary_folder.h"
#include "tools/run/elf_file.h"

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class ExecutableTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text, int mode = 0755) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
  }
  // A copy of a small program of this machine with `edit` applied to its bytes.
  template <class Edit>
  std::string altered(const std::string& name, Edit edit) {
    std::ifstream in("/bin/sh", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    edit(bytes);
    return write(name, bytes);
  }
  TemporaryFolder folder_;
};

TEST_F(ExecutableTest, FindsInPathAndByPath) {
  const std::string path = write("tool", "#!/bin/sh\n");
  EXPECT_EQ(find_program("tool", "/nonexistent:" + folder_.path()).path, path);
  EXPECT_EQ(find_program(path, "").path, path);
}

TEST_F(ExecutableTest, MissingIs127) {
  EXPECT_EQ(find_program("no-such-tool", "/bin").exit_code, kExitNotFound);
  EXPECT_THAT(find_program("no-such-tool", "/bin").error, HasSubstr("not found in PATH"));
  EXPECT_EQ(find_program("/no/such/tool", "/bin").exit_code, kExitNotFound);
  EXPECT_EQ(find_program("", "/bin").exit_code, kExitNotFound);
}

TEST_F(ExecutableTest, NotExecutableIs126) {
  write("data", "text", 0644);
  EXPECT_EQ(find_program("data", folder_.path()).exit_code, kExitNotExecutable);
  EXPECT_EQ(find_program(folder_.path(), "").exit_code, kExitNotExecutable);
}

TEST_F(ExecutableTest, ALaterExecutableWinsOverAnEarlierDataFile) {
  write("tool", "text", 0644);
  fs::create_directory(folder_.path() + "/two");
  const std::string path = write("two/tool", "#!/bin/sh\n");
  EXPECT_EQ(find_program("tool", folder_.path() + ":" + folder_.path() + "/two").path, path);
}

TEST_F(ExecutableTest, OrdinaryProgramsAndScriptsAreReached) {
  EXPECT_THAT(inspect_reach("/proc/self/exe", "/bin").obstacle, IsEmpty());
  EXPECT_THAT(inspect_reach(write("s", "#!/bin/sh\n"), "/bin").obstacle, IsEmpty());
  EXPECT_THAT(inspect_reach(write("odd", "neither"), "/bin").obstacle, IsEmpty());
}

TEST_F(ExecutableTest, AProgramWithoutInterpreterIsStatic) {
  const std::string path = altered("static", [](std::string& bytes) {
    // PT_INTERP (3) becomes PT_NOTE (4) in the program headers.
    const auto offset = *reinterpret_cast<const std::uint64_t*>(bytes.data() + 32);
    const auto count = *reinterpret_cast<const std::uint16_t*>(bytes.data() + 56);
    for (unsigned i = 0; i < count; ++i) {
      auto* type = reinterpret_cast<std::uint32_t*>(bytes.data() + offset + i * 56);
      if (*type == 3) *type = 4;
    }
  });
  EXPECT_THAT(inspect_reach(path, "/bin").obstacle, HasSubstr("statically linked"));
  // A script is as reachable as its interpreter.
  const std::string script = write("script", "#!" + path + " -x\n");
  EXPECT_THAT(inspect_reach(script, "/bin").obstacle, HasSubstr("statically linked"));
  const std::string env = write("env-script", "#!/usr/bin/env -S A=b static\n");
  EXPECT_THAT(inspect_reach(env, folder_.path()).obstacle, HasSubstr("statically linked"));
}

TEST_F(ExecutableTest, AnotherMachineIsNamed) {
  const std::string path = altered("foreign", [](std::string& bytes) { bytes[18] = 21; });
  EXPECT_THAT(inspect_reach(path, "/bin").obstacle, HasSubstr("built for machine 21"));
}

TEST_F(ExecutableTest, SetUserIdOfAnotherUserIsNamed) {
  const std::string path = altered("suid", [](std::string&) {});
  if (chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root";
  chmod(path.c_str(), 04755);
  EXPECT_THAT(inspect_reach(path, "/bin").obstacle, HasSubstr("set-user-ID"));
}

TEST_F(ExecutableTest, TornFilesAreNoElf) {
  std::string whole;
  altered("whole", [&](std::string& bytes) { whole = bytes.substr(0, 4096); });
  for (std::size_t size : {0, 3, 16, 40, 64, 100, 1000}) {
    EXPECT_FALSE(read_elf(write("torn", whole.substr(0, size))).has_value()) << size;
  }
}

TEST_F(ExecutableTest, WildOffsetsAreRefused) {
  const std::string path = altered("wild", [](std::string& bytes) {
    for (int i = 32; i < 40; ++i) bytes[static_cast<std::size_t>(i)] = '\xff';  // e_phoff
  });
  EXPECT_FALSE(read_elf(path).has_value());
}

}  // namespace
}  // namespace cuvmm::tools
