// SPDX-License-Identifier: Apache-2.0
// The small parsers and writers: JSON strings, the loader's cache, process maps, the environment.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <tuple>

#include "shim/driver/escape.h"
#include "shim/driver/loader_cache.h"
#include "shim/driver/real_driver.h"
#include "shim/findings/arguments.h"
#include "shim/output/json.h"
#include "shim/settings/options.h"

namespace cuvmm::shim {
namespace {

TEST(Json, EscapesAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(json_string("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_string("\xff"
                        "a\xc3"),
            "\"\\ufffda\\ufffd\"");
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\\ufffd\\ufffd\"");             // an overlong form
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // a surrogate
}

// Builds a cache in glibc's layout by hand.
std::string cache(
    std::initializer_list<std::tuple<std::uint32_t, const char*, const char*>> entries) {
  std::string header = "glibc-ld.so.cache1.1", table, strings;
  const auto add = [](std::string& to, std::uint32_t value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(header, static_cast<std::uint32_t>(entries.size()));
  header.resize(48);
  const std::size_t start = header.size() + entries.size() * 24;
  for (const auto& [flags, name, path] : entries) {
    add(table, flags);
    add(table, static_cast<std::uint32_t>(start + strings.size()));
    strings.append(name).push_back('\0');
    add(table, static_cast<std::uint32_t>(start + strings.size()));
    strings.append(path).push_back('\0');
    table.append(12, '\0');
  }
  return header + table + strings;
}

#if defined(__x86_64__)
constexpr std::uint32_t kOurs = 0x0303, kOther = 0x0803;
#else
constexpr std::uint32_t kOurs = 0x0a03, kOther = 0x0303;
#endif

TEST(LoaderCache, FindsThisMachinesLibrariesInOrder) {
  const std::string bytes = cache({{kOther, "libcuda.so.1", "/lib32/libcuda.so.1"},
                                   {kOurs, "libcuda.so", "/a/libcuda.so"},
                                   {kOurs, "libcuda.so.1", "/b/libcuda.so.1"},
                                   {kOurs, "libcuda.so.1", "/c/libcuda.so.1"}});
  const std::vector<std::string> wanted{"/b/libcuda.so.1", "/c/libcuda.so.1"};
  EXPECT_EQ(find_in_loader_cache(bytes, "libcuda.so.1"), wanted);
  EXPECT_EQ(find_in_loader_cache("old format first" + bytes, "libcuda.so.1"), wanted);
}

TEST(LoaderCache, TornBytesYieldNothingWrong) {
  const std::string bytes = cache({{kOurs, "libcuda.so.1", "/b/libcuda.so.1"}});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(find_in_loader_cache(bytes.substr(0, length), "libcuda.so.1").empty()) << length;
  }
}

TEST(LoaderCache, AgreesWithTheRealOne) {
  const auto libc = find_in_loader_cache_file("/etc/ld.so.cache", "libc.so.6");
  if (access("/etc/ld.so.cache", R_OK) != 0) GTEST_SKIP() << "no cache on this machine";
  ASSERT_FALSE(libc.empty());
  EXPECT_EQ(access(libc[0].c_str(), R_OK), 0) << libc[0];
}

TEST(Escape, NamesOtherLibcudasAndSecondLoads) {
  const char* maps =
      "7f0000000000-7f0000001000 r--p 00000000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000001000-7f0000002000 r-xp 00001000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000003000-7f0000004000 r-xp 00000000 08:01 12  /opt/my libs/libcuda.so.1\n"
      "7f0000005000-7f0000006000 r-xp 00000000 08:01 13  /opt/libcudart.so.13\n"
      "7f0000006000-7f0000007000 rw-p 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0   [stack]\n";
  const std::vector<std::string> other{"/opt/my libs/libcuda.so.1"};
  EXPECT_EQ(escaped_libraries_in(maps, {"/driver/libcuda.so.580.1"}), other);
  EXPECT_EQ(escaped_libraries_in(maps, {}).size(), 2u);
  const std::string again =
      std::string(maps) +
      "7f1000001000-7f1000002000 r-xp 00001000 08:01 11 /driver/libcuda.so.580.1\n";
  EXPECT_EQ(escaped_libraries_in(again, {"/driver/libcuda.so.580.1"}).size(), 2u);
  EXPECT_TRUE(escaped_libraries_in("", {}).empty());
}

// gdb and profilers map the file in this way, to read its symbols.
TEST(Escape, AFileThatIsOnlyReadIsNotLoaded) {
  const char* maps =
      "7f0000000000-7f0000001000 r--p 00000000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000001000-7f0000002000 r-xp 00001000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000003000-7f0000009000 r--p 00000000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f000000a000-7f000000b000 rw-p 00000000 08:01 12  /other/libcuda.so.1\n"
      "7f000000c000-7f000000d000 r--s 00000000 08:01 12  /other/libcuda.so.1\n";
  EXPECT_TRUE(escaped_libraries_in(maps, {"/driver/libcuda.so.580.1"}).empty());
}

TEST(Escape, CodeThatWasCutInPiecesIsOneLoad) {
  const char* maps =
      "7f0000001000-7f0000002000 r-xp 00001000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000002000-7f0000003000 rwxp 00002000 08:01 11  /driver/libcuda.so.580.1\n"
      "7f0000003000-7f0000004000 r-xp 00003000 08:01 11  /driver/libcuda.so.580.1\n";
  EXPECT_TRUE(escaped_libraries_in(maps, {"/driver/libcuda.so.580.1"}).empty());
}

TEST(Options, ReadsTheEnvironmentAndNamesWhatItDoesNotUnderstand) {
  setenv("CUVMM_REPORT", "/tmp/r-%p-%p.json", 1);
  setenv("CUVMM_ENFORCE", "1", 1);
  setenv("CUVMM_LEAK_CHECK", "full", 1);
  setenv("CUVMM_ERROR_EXITCODE", "7", 1);
  setenv("CUVMM_STACK_DEPTH", "1", 1);
  Options options = read_options(42);
  EXPECT_EQ(options.report, "/tmp/r-42-42.json");
  EXPECT_TRUE(options.enforce);
  EXPECT_FALSE(options.quiet);
  EXPECT_FALSE(options.no_symbols);
  EXPECT_FALSE(options.no_python_frames);
  EXPECT_EQ(options.color, ColorChoice::kAuto);
  EXPECT_EQ(options.limit, -1);
  EXPECT_EQ(options.leak_check, LeakCheck::kFull);
  EXPECT_EQ(options.error_exit_code, 7);
  EXPECT_EQ(options.stack_depth, 1);
  EXPECT_EQ(options.complaint, "");
  // Relative paths mean the folder in which the program started.
  setenv("CUVMM_REPORT", "r.json", 1);
  const std::string here = start_folder();
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(read_options(42).report, here + "/r.json");
  ASSERT_EQ(chdir(here.c_str()), 0);
  setenv("CUVMM_LEAK_CHECK", "maybe", 1);
  options = read_options(42);
  EXPECT_EQ(options.leak_check, LeakCheck::kSummary);
  EXPECT_EQ(options.complaint,
            "CUVMM_LEAK_CHECK=maybe is not understood: expected summary, full or no");
  setenv("CUVMM_LEAK_CHECK", "no", 1);
  setenv("CUVMM_STACK_DEPTH", "0", 1);
  setenv("CUVMM_NO_SYMBOLS", "1", 1);
  setenv("CUVMM_NO_PYTHON_FRAMES", "1", 1);
  setenv("CUVMM_COLOR", "never", 1);
  setenv("CUVMM_LIMIT", "3", 1);
  options = read_options(42);
  EXPECT_TRUE(options.no_python_frames);
  EXPECT_EQ(options.color, ColorChoice::kNever);
  EXPECT_EQ(options.limit, 3);
  EXPECT_TRUE(options.no_symbols);
  EXPECT_EQ(options.stack_depth, static_cast<int>(kMaxFrames));
  EXPECT_EQ(options.complaint,
            "CUVMM_STACK_DEPTH=0 is not understood: expected a number from 1 to 48");
  for (const char* name : {"CUVMM_REPORT", "CUVMM_ENFORCE", "CUVMM_LEAK_CHECK",
                           "CUVMM_ERROR_EXITCODE", "CUVMM_NO_SYMBOLS", "CUVMM_STACK_DEPTH",
                           "CUVMM_NO_PYTHON_FRAMES", "CUVMM_COLOR", "CUVMM_LIMIT"}) {
    unsetenv(name);
  }
}

TEST(RealDriver, LooksWhereTheLoaderDoes) {
  setenv("LD_LIBRARY_PATH", "/first:/second", 1);
  const auto candidates = driver_candidates({});
  ASSERT_GT(candidates.size(), 3u);
  EXPECT_EQ(candidates[0], "/first/libcuda.so.1");
  EXPECT_EQ(candidates[1], "/second/libcuda.so.1");
  EXPECT_EQ(candidates.back(), "/usr/lib/wsl/lib/libcuda.so.1");
  Options named;
  named.driver = "/x/libcuda.so.1";
  EXPECT_EQ(driver_candidates(named), std::vector<std::string>{"/x/libcuda.so.1"});
  unsetenv("LD_LIBRARY_PATH");
}

TEST(RealDriver, SaysWhyThereIsNone) {
  Options named;
  named.driver = "/nonexistent/libcuda.so.1";
  const RealDriver none = open_driver(named);
  EXPECT_EQ(none.library, nullptr);
  EXPECT_EQ(none.error, "CUVMM_DRIVER=/nonexistent/libcuda.so.1 does not exist");
}

// The text of a pool is equal in arguments, in the sentences of findings and in the lists of
// objects.
TEST(Arguments, HandlesOfEveryKindReadAlike) {
  const auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0xd000000300});
  const std::vector<ArgumentText> texts = describe_arguments(calls::MemPoolDestroy{.pool = pool});
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].text, "0xd000000300");
}

}  // namespace
}  // namespace cuvmm::shim
