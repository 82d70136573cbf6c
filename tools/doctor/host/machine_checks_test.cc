// SPDX-License-Identifier: Apache-2.0
// Tests of the machine's checks, on temporary folders that stand for the root of a machine.
#include "tools/doctor/host/machine_checks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/doctor/host/limit_checks.h"

namespace cuvmm::doctor {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class FakeMachine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "doctor-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    unsetenv("container");
    file("/proc/version", "Linux version 6.1.0\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void load_module() {
    file("/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
         "GCC version:  gcc version 12.3.0\n");
  }
  Check check(const char* id) {
    const std::vector<Check> checks = check_machine(Host(root_));
    const Check* found = find(checks, id);
    EXPECT_NE(found, nullptr) << id;
    return found ? *found : Check{};
  }

  std::string root_;
};

TEST_F(FakeMachine, AContainerIsNamedAsItNamesItself) {
  EXPECT_THAT(check("platform").detail, Not(HasSubstr("container")));
  for (const auto& [name, ending] :
       {std::pair("podman", ", in a container (podman)"), std::pair("oci", ", in a container")}) {
    setenv("container", name, 1);
    EXPECT_THAT(check("platform").detail, EndsWith(ending));
  }
  EXPECT_THAT(check("imex-daemon").detail, HasSubstr("outside of this container"));
  unsetenv("container");
  EXPECT_THAT(check("imex-daemon").detail, Not(HasSubstr("container")));
  file("/.dockerenv", "");
  EXPECT_THAT(check("platform").detail, EndsWith(", in a container (docker)"));
}

TEST_F(FakeMachine, WithoutAnythingHasNoModuleAndNoNodes) {
  EXPECT_EQ(check("platform").status, Status::kWorks);
  EXPECT_EQ(check("kernel-module").status, Status::kDoesNot);
  EXPECT_THAT(check("kernel-module").fix, HasSubstr("modprobe nvidia"));
  const Check nodes = check("device-nodes");
  EXPECT_EQ(nodes.status, Status::kDoesNot);
  EXPECT_THAT(nodes.detail, HasSubstr("kernel module is not loaded"));
  EXPECT_THAT(check("imex-channels").detail, HasSubstr("not loaded"));
  EXPECT_EQ(check("imex-daemon").status, Status::kUnknown);
  EXPECT_EQ(check("mps").status, Status::kWorks);
}

TEST_F(FakeMachine, ContainerWithoutGpusIsToldToAskForThem) {
  load_module();
  file("/.dockerenv", "");
  EXPECT_EQ(check("kernel-module").detail, "580.159.04");
  const Check nodes = check("device-nodes");
  EXPECT_EQ(nodes.status, Status::kDoesNot);
  EXPECT_THAT(nodes.detail, HasSubstr("/dev/nvidiactl"));
  EXPECT_THAT(nodes.fix, HasSubstr("--gpus all"));
  EXPECT_THAT(check("platform").detail, HasSubstr("docker"));
}

TEST_F(FakeMachine, NodesOfSomeGpusAreCounted) {
  load_module();
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia3", "nvidia-caps"}) {
    file(std::string("/dev/") + node, "");
  }
  file("/proc/driver/nvidia/gpus/0000:18:00.0/information", "");
  file("/proc/driver/nvidia/gpus/0000:2a:00.0/information", "");
  EXPECT_EQ(check("device-nodes").status, Status::kWorks);
  EXPECT_EQ(check("device-nodes").detail, "1 of the 2 GPUs have nodes here");
}

TEST_F(FakeMachine, NodeThatIsMissingIsNamed) {
  load_module();
  file("/dev/nvidiactl", "");
  file("/dev/nvidia0", "");
  EXPECT_EQ(check("device-nodes").status, Status::kDoesNot);
  EXPECT_THAT(check("device-nodes").detail, HasSubstr("/dev/nvidia-uvm"));
}

TEST_F(FakeMachine, ChannelsNeedAModuleThatKnowsThem) {
  load_module();
  file("/proc/devices", "Character devices:\n195 nvidia\n");
  EXPECT_EQ(check("imex-channels").status, Status::kDoesNot);
  EXPECT_THAT(check("imex-channels").detail, HasSubstr("/proc/devices"));
}

TEST_F(FakeMachine, WithoutAChannelTheMajorNumberIsInTheFix) {
  load_module();
  file("/proc/devices", "Character devices:\n195 nvidia\n234 nvidia-caps-imex-channels\n");
  const Check check_here = check("imex-channels");
  EXPECT_EQ(check_here.status, Status::kDoesNot);
  EXPECT_THAT(check_here.detail, HasSubstr("there is no channel"));
  EXPECT_THAT(check_here.fix, HasSubstr("channel0 c 234 0"));
  file("/run/.containerenv", "");
  EXPECT_THAT(check("imex-channels").fix, HasSubstr("--device"));
}

TEST_F(FakeMachine, PlainFileIsNoChannel) {
  load_module();
  file("/proc/devices", "234 nvidia-caps-imex-channels\n");
  file("/dev/nvidia-caps-imex-channels/channel0", "");
  EXPECT_EQ(check("imex-channels").status, Status::kDoesNot);
  EXPECT_THAT(check("imex-channels").detail, HasSubstr("is no character device"));
}

// The null device stands for a channel.
TEST_F(FakeMachine, ChannelOfTheModulesMajorNumberOpens) {
  load_module();
  std::filesystem::create_directories(root_ + "/dev/nvidia-caps-imex-channels");
  const std::string node = root_ + "/dev/nvidia-caps-imex-channels/channel0";
  if (mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) GTEST_SKIP() << "needs mknod";
  file("/proc/devices", "1 nvidia-caps-imex-channels\n");
  const Check good = check("imex-channels");
  if (good.detail.find("not permitted") != std::string::npos) GTEST_SKIP() << "mounted nodev";
  if (good.detail.find("ermission denied") != std::string::npos) GTEST_SKIP() << "mounted nodev";
  EXPECT_EQ(good.status, Status::kWorks) << good.detail;
  EXPECT_EQ(good.detail, "channel0");
  file("/proc/devices", "234 nvidia-caps-imex-channels\n");
  EXPECT_EQ(check("imex-channels").status, Status::kDoesNot);
  EXPECT_THAT(check("imex-channels").detail,
              HasSubstr("has major number 1, but the loaded module"));
}

TEST_F(FakeMachine, DaemonIsFoundByItsName) {
  file("/proc/41/comm", "bash\n");
  file("/proc/42/comm", "nvidia-imex\n");
  EXPECT_EQ(check("imex-daemon").status, Status::kWorks);
  EXPECT_THAT(check("imex-daemon").detail, HasSubstr("42"));
}

TEST_F(FakeMachine, WslIsAPlatformWithLimits) {
  file("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n");
  EXPECT_EQ(check("platform").status, Status::kDoesNot);
  EXPECT_THAT(check("platform").detail, HasSubstr("4 GiB"));
  EXPECT_THAT(check("kernel-module").detail, HasSubstr("/dev/dxg"));
  file("/dev/dxg", "");
  EXPECT_EQ(check("kernel-module").status, Status::kWorks);
  EXPECT_EQ(check("device-nodes").status, Status::kWorks);
}

TEST_F(FakeMachine, TegraIsAPlatformWithLimitsAndOtherModules) {
  file("/proc/device-tree/model", std::string("NVIDIA Jetson AGX Orin Developer Kit\0", 37));
  EXPECT_EQ(check("platform").status, Status::kDoesNot);
  EXPECT_THAT(check("platform").detail, HasSubstr("(NVIDIA Jetson AGX Orin Developer Kit)"));
  EXPECT_EQ(check("kernel-module").status, Status::kUnknown);
  EXPECT_EQ(check("device-nodes").status, Status::kUnknown);
}

TEST_F(FakeMachine, PipeOfMpsThatNobodyReadsDoesNotWork) {
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/mps", 1);
  std::filesystem::create_directories(root_ + "/mps");
  ASSERT_EQ(mkfifo((root_ + "/mps/control").c_str(), 0600), 0);
  EXPECT_EQ(check("mps").status, Status::kDoesNot);
  EXPECT_THAT(check("mps").detail, HasSubstr("no daemon reads it"));
  const int reader = open((root_ + "/mps/control").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(check("mps").status, Status::kWorks);
  close(reader);
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

TEST_F(FakeMachine, SharedMemoryIsTried) {
  EXPECT_EQ(check_shm(Host(root_)).status, Status::kDoesNot);  // there is no /dev/shm
  std::filesystem::create_directories(root_ + "/dev/shm");
  EXPECT_THAT(check_shm(Host(root_)).detail, HasSubstr("are free"));
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/dev/shm"));
}

TEST(Limits, FewFilesAreTooFew) {
  EXPECT_EQ(judge_files({.soft = 1024, .hard = 4096}).status, Status::kWorks);
  const Check few = judge_files({.soft = 64, .hard = 4096, .open = 3, .by_driver = 23});
  EXPECT_EQ(few.status, Status::kDoesNot);
  EXPECT_THAT(few.detail, HasSubstr("64 open files; a started driver holds 23"));
  EXPECT_THAT(few.fix, HasSubstr("ulimit -n 4096"));
  EXPECT_THAT(judge_files({.soft = 64, .hard = 64}).fix, HasSubstr("the hard limit is 64"));
}

TEST(Limits, AddressSpaceMustHoldTheDevicesMemory) {
  constexpr std::uint64_t kGiB = 1ull << 30;
  AddressSpace space{.soft = 1100 * kGiB, .hard = ~0ull, .used = kGiB, .largest = 1000 * kGiB};
  EXPECT_EQ(judge_address_space(space).status, Status::kWorks);
  space.devices = 1120 * kGiB;
  EXPECT_EQ(judge_address_space(space).status, Status::kDoesNot);
  EXPECT_THAT(judge_address_space(space).fix, HasSubstr("ulimit -v unlimited"));
  space = {.soft = 2 * kGiB, .hard = 2 * kGiB, .used = kGiB, .largest = kGiB};
  EXPECT_THAT(judge_address_space(space).detail, HasSubstr("RLIMIT_AS is 2 GiB, of which 1 GiB"));
  EXPECT_THAT(judge_address_space(space).fix, HasSubstr("hard limit is 2 GiB"));
}

TEST(Limits, LargestReservationIsFoundByTrial) {
  const AddressSpace space = try_address_space(Host());
  EXPECT_GT(space.largest, 1ull << 30);
  EXPECT_GT(space.used, 0u);
}

TEST(Limits, BytesHaveUnits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(2 << 20), "2 MiB");
  EXPECT_EQ(bytes_text(3ull << 29), "1.5 GiB");
  EXPECT_EQ(bytes_text(~0ull), "unlimited");
}

}  // namespace
}  // namespace cuvmm::doctor
