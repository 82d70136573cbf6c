// SPDX-License-Identifier: Apache-2.0
// The log of refused calls, as callbacks and later queries receive it.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using Callback = void (*)(void*, int, char*, std::size_t);

class Log : public EmulatorTest {
 protected:
  static CUresult refused() {
    int value = 0;
    return driver()(calls::DeviceGetAttribute{&value, static_cast<CUdevice_attribute>(9999), 0});
  }
  static std::string dump(unsigned* since, std::size_t room = 30000) {
    std::string text(room, '\0');
    std::size_t size = room;
    if (dump_(since, text.data(), &size, 0) != CUDA_SUCCESS) return "refused";
    EXPECT_LT(size, room);
    EXPECT_EQ(text[size], '\0');
    text.resize(size);
    return text;
  }
  static inline auto* const dump_ =
      symbol<CUresult(unsigned*, char*, std::size_t*, unsigned)>("cuLogsDumpToMemory");
  static inline auto* const current_ = symbol<CUresult(unsigned*, unsigned)>("cuLogsCurrent");
  static inline auto* const add_ =
      symbol<CUresult(Callback, void*, void**)>("cuLogsRegisterCallback");
  static inline auto* const remove_ = symbol<CUresult(void*)>("cuLogsUnregisterCallback");
  static constexpr const char* kSentence =
      "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuDeviceGetAttribute";
};

TEST_F(Log, ListenersHearOfEachRefusedCallUntilTheyLeave) {
  std::vector<std::string> heard;
  void* callback = nullptr;
  const Callback hear = [](void* data, int level, char* message, std::size_t length) {
    EXPECT_EQ(level, 0) << "an error";
    static_cast<std::vector<std::string>*>(data)->emplace_back(message, length);
  };
  ASSERT_OK(add_(hear, &heard, &callback));
  EXPECT_EQ(refused(), CUDA_ERROR_INVALID_VALUE);
  int count = 0;
  EXPECT_OK(driver()(calls::DeviceGetCount{&count}));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0], kSentence);
  // Functions that are not in api/entry_points.def, and functions that are not emulated.
  auto* uuid = symbol<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2");
  CUuuid id;
  EXPECT_EQ(uuid(&id, 99), CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_TRUE(heard[1].ends_with(" from cuDeviceGetUuid_v2")) << heard[1];
  ASSERT_OK(remove_(callback));
  EXPECT_EQ(remove_(callback), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(heard.size(), 2u);
  EXPECT_EQ(add_(nullptr, nullptr, &callback), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Log, ADumpBeginsWhereTheIteratorStands) {
  unsigned here = 0;
  ASSERT_OK(current_(&here, 0));
  EXPECT_EQ(dump(&here), "");
  refused();
  refused();
  unsigned again = here;
  const std::string both = dump(&here);
  EXPECT_NE(both.find("[CUDA][E] " + std::string(kSentence) + "\n["), std::string::npos) << both;
  EXPECT_EQ(dump(&here), "") << "it moved on";
  const std::string one = both.substr(both.find('\n') + 1);
  EXPECT_EQ(dump(&again, both.size()), one) << "the newest that fits";
  again = here - 2;
  EXPECT_EQ(dump(&again, 8), "refused") << "nothing fits";
  EXPECT_EQ(current_(&here, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Log, TheLastHundredAreKept) {
  for (int i = 0; i < 150; ++i) refused();
  std::istringstream lines(dump(nullptr));
  int count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  EXPECT_EQ(count, 100);
}

TEST_F(Log, AFileGetsWhatIsNew) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cuvmm-log-" + std::to_string(::getpid()));
  auto* to_file = symbol<CUresult(unsigned*, const char*, unsigned)>("cuLogsDumpToFile");
  unsigned here = 0;
  ASSERT_OK(current_(&here, 0));
  refused();
  ASSERT_OK(to_file(&here, path.c_str(), 0));
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_TRUE(line.ends_with(kSentence)) << line;
  EXPECT_FALSE(std::getline(file, line));
  EXPECT_EQ(to_file(&here, "/nowhere/log", 0), CUDA_ERROR_INVALID_VALUE);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
