// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "recorder/last_calls/writer.h"
#include "tools/crash/crash_json.h"
#include "tools/crash/crash_symbols.h"
#include "tools/crash/crash_text.h"
#include "tools/crash/last_calls_files.h"
#include "tools/crash/xid.h"

namespace cuvmm::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An image that a process left; write() makes a file of it.
class Left {
 public:
  Left() {
    last_calls::fill_rows(image->entries);
    writer.start(image.get());
    const auto call = writer.begin(me, EntryPoint::kMemUnmap, {0x700000000000, 2 << 20});
    writer.note_end(me, {last_calls::ObjectKind::kMapping, 0, 0x700000000000, 2 << 20, 1, 2});
    writer.end(me, call, 0);
  }
  void hang() { writer.begin(me, EntryPoint::kStreamSynchronize, {0x33}); }
  void write(const std::string& path, std::uint64_t pid) {
    image->header.file.pid = pid;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.get()), sizeof(last_calls::Image));
  }
  last_calls::Reading read() const {
    last_calls::Reading reading;
    EXPECT_EQ(
        last_calls::read_image(
            {reinterpret_cast<const std::byte*>(image.get()), sizeof(last_calls::Image)}, reading),
        "");
    return reading;
  }

  std::unique_ptr<last_calls::Image> image = std::make_unique<last_calls::Image>();
  last_calls::Writer writer;
  last_calls::ThreadPlace me;
};

TEST(Xid, NamesAnAddress) {
  EXPECT_EQ(address_of_xid("NVRM: Xid (PCI:0000:05:00): 31, pid=71, name=app, Ch 00000008, intr "
                           "00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
                           "0x7f6a_2c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
            0x7f6a2c000000u);
  EXPECT_EQ(address_of_xid("NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus."),
            std::nullopt);
  EXPECT_EQ(address_of_xid("faulted @ 0x1000"), std::nullopt);
  EXPECT_EQ(address_of_xid(""), std::nullopt);
  EXPECT_EQ(parse_address("0x7f_00"), 0x7f00u);
  EXPECT_EQ(parse_address("7f00"), 0x7f00u);
  for (const char* bad : {"", "0x", "x", "0x12g", "0x11112222333344445", "_1"}) {
    EXPECT_EQ(parse_address(bad), std::nullopt) << bad;
  }
}

TEST(CrashText, TellsWhatWasInTheDriver) {
  Left left;
  left.hang();
  const std::string text = crash_text(left.read(), 10);
  EXPECT_THAT(text, HasSubstr("was killed, became another program, or still runs"));
  EXPECT_THAT(text, HasSubstr("In the driver, by thread:\n  thread "));
  EXPECT_THAT(text, HasSubstr("cuStreamSynchronize(hStream=0x33), since "));
  EXPECT_THAT(text, HasSubstr("mapping 0x700000000000 (2 MiB) of device 0, ended by cuMemUnmap("));
  EXPECT_THAT(text, HasSubstr("The last 2 of 2 calls:"));
  EXPECT_THAT(text, HasSubstr("cuMemUnmap(ptr=0x700000000000, size=2M)  # CUDA_SUCCESS"));
  left.writer.note_signal(SIGSEGV);
  left.writer.begin_fault(719, 2);
  const std::string later = crash_text(left.read(), 1);
  EXPECT_THAT(later, HasSubstr("was ended by signal 11 (SIGSEGV)"));
  EXPECT_THAT(later, HasSubstr("CUDA_ERROR_LAUNCH_FAILED), seen at cuStreamSynchronize"));
  EXPECT_THAT(later, HasSubstr("The last 1 of 2 calls:"));
}

TEST(CrashJson, HasTheSame) {
  Left left;
  left.hang();
  left.writer.note_address(0x700000000010);
  const Json value = crash_json(left.read(), 10);
  EXPECT_EQ(value["total_calls"], 2);
  ASSERT_EQ(value["in_driver"].size(), 1u);
  EXPECT_EQ(value["in_driver"][0]["function"], "cuStreamSynchronize");
  EXPECT_FALSE(value["in_driver"][0].contains("result"));
  ASSERT_EQ(value["ended_objects"].size(), 1u);
  EXPECT_EQ(value["ended_objects"][0]["what"], "mapping");
  EXPECT_EQ(value["ended_objects"][0]["value"], "0x700000000000");
  EXPECT_EQ(value["calls"][0]["result"], "CUDA_SUCCESS");
  EXPECT_EQ(value["address"], "0x700000000010");
  EXPECT_EQ(value["near"].size(), 1u);
}

TEST(CrashSymbols, AreModulesAndOffsetsWhereTheFilesAreGone) {
  const std::string maps =
      "1000-2000 r--p 00000000 00:00 1                          /gone/libfoo.so\n"
      "2000-4000 r-xp 00001000 00:00 1                          /gone/libfoo.so\n"
      "7000-8000 rw-p 00000000 00:00 0 \n";
  EXPECT_THAT(crash_stack(maps, {0x2034}), ElementsAre(HasSubstr("(libfoo.so+0x1034)")));
  EXPECT_THAT(crash_stack(maps, {0x7034}), ElementsAre("#0 (0x7034)"));
  EXPECT_THAT(crash_stack("", {0x7034}), ElementsAre("#0 (0x7034)"));
  EXPECT_THAT(crash_stack("no map\n\xff", {1, 2}), testing::SizeIs(2));
}

class LastCallsFiles : public ::testing::Test {
 protected:
  LastCallsFiles() { std::filesystem::create_directory(folder_); }
  ~LastCallsFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }

  // Each test has its own folder, because ctest runs tests as processes at the same time.
  const std::string folder_ = ::testing::TempDir() + "last-calls-" + std::to_string(getpid());
};

TEST_F(LastCallsFiles, AreThoseOfCrashes) {
  Left calm, stuck, faulty, died;
  stuck.hang();
  faulty.writer.begin_fault(700, 1);
  died.writer.note_signal(SIGABRT);
  calm.write(path("1.ring"), 1);    // it replaced its program by exec
  calm.write(path("2.ring"), 2);    // a signal asked it to end
  calm.write(path("3.ring"), 3);    // killed
  stuck.write(path("4.ring"), 4);   // its end is unknown, and a call had not returned
  faulty.write(path("5.ring"), 5);  // it exited
  died.write(path("6.ring"), 6);
  std::ofstream(path("7.ring")) << "nonsense";
  std::ofstream(path("other.txt")) << "of another program";
  TreeResult tree;
  tree.pid = 3;
  tree.signal = SIGKILL;
  tree.signals = {{2, SIGTERM}};
  const auto files = keep_last_calls(folder_, tree, false);
  EXPECT_THAT(
      files,
      ElementsAre(Field(&LastCallsFile::sentence, "process 3 was ended by signal 9 (SIGKILL)"),
                  Field(&LastCallsFile::sentence, "process 4 was ended in cuStreamSynchronize"),
                  Field(&LastCallsFile::sentence, "process 5 saw CUDA_ERROR_ILLEGAL_ADDRESS"),
                  Field(&LastCallsFile::sentence, "process 6 was ended by signal 6 (SIGABRT)")));
  for (const char* gone : {"1.ring", "2.ring", "7.ring"}) {
    EXPECT_FALSE(std::filesystem::exists(path(gone))) << gone;
  }
  for (const char* there : {"3.ring", "4.ring", "5.ring", "6.ring", "other.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(path(there))) << there;
  }
}

TEST_F(LastCallsFiles, AllStayWhereTheyAreAskedFor) {
  Left calm;
  calm.write(path("1.ring"), 1);
  EXPECT_THAT(keep_last_calls(folder_, {}, true), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(path("1.ring")));
}

}  // namespace
}  // namespace cuvmm::tools
