// SPDX-License-Identifier: Apache-2.0
// Refused calls on machines that lack something. A folder stands for the machine's files,
// tools/doctor/nvml/fake_nvml.cc for NVML, and the emulator for the driver if a test needs one.
#include "tools/report/machine/machine_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cuvmm::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MachineCauses : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "machine-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    file("/proc/version", "Linux version 6.1.0\n");
    machine_.host = doctor::Host(root_);
    machine_.driver = root_ + "/libcuda.so.1";  // no such file
    machine_.nvml = root_ + "/libnvidia-ml.so.1";
    machine_.limit = std::chrono::minutes(1);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// The id of the check that is the cause of one refused call; "" if none is known.
  std::string cause(const char* call, const char* result, const char* handle_types = "none",
                    const char* list = "refusals") {
    Json entry = {{"call", call}, {"result", result}, {"count", 1}, {"kind", "advice"}};
    entry["arguments"] = {{"prop", std::string("{handleTypes=") + handle_types + "}"}};
    Json report = {{"refusals", Json::array()}, {"findings", Json::array()}};
    report[list].push_back(entry);
    sentences_ = explain_by_machine(report, machine_);
    const Json& reported = report[list][0];
    if (!reported.contains("machine")) {
      EXPECT_THAT(sentences_, IsEmpty());
      return {};
    }
    EXPECT_THAT(sentences_, SizeIs(1));
    because_ = reported["machine"]["because"];
    EXPECT_FALSE(reported["machine"]["fix"].get<std::string>().empty());
    EXPECT_THAT(sentences_.at(0), HasSubstr(because_));
    return reported["machine"]["check"];
  }

  std::string root_, because_;
  std::vector<std::string> sentences_;
  doctor::DoctorOptions machine_;
};

TEST_F(MachineCauses, NotPermittedIsTheImexChannelThatIsNotThere) {
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_NOT_PERMITTED", "fabric"), "imex-channels");
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_NOT_PERMITTED", "fabric", "findings"), "imex-channels")
      << "of advice, too";
  EXPECT_EQ(cause("cuMemImportFromShareableHandle", "CUDA_ERROR_NOT_PERMITTED", "fabric"),
            "imex-channels");
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_NOT_PERMITTED"), "")
      << "no fabric handle was asked for";
}

TEST_F(MachineCauses, NotSupportedIsThePlatform) {
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_NOT_SUPPORTED", "posix_fd"), "");
  file("/proc/version", "Linux version 5.15.0-microsoft-standard-WSL2\n");
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_NOT_SUPPORTED", "posix_fd"), "platform");
  EXPECT_THAT(because_, HasSubstr("cannot export memory by descriptor"));
  EXPECT_EQ(cause("cuMemAddressReserve", "CUDA_ERROR_NOT_SUPPORTED"), "platform");
}

TEST_F(MachineCauses, OutOfMemoryForAddressesIsThePlatform) {
  file("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.0\n");
  EXPECT_EQ(cause("cuMemAddressReserve", "CUDA_ERROR_OUT_OF_MEMORY"), "platform");
  EXPECT_THAT(because_, HasSubstr("address space is short, not memory"));
}

// One of NVML's two GPUs has a fabric that is not set up yet, and is divided into MIG instances.
TEST_F(MachineCauses, FabricThatIsNotReadyIsNamedWithItsCodes) {
  machine_.nvml = CUVMM_FAKE_NVML;
  EXPECT_EQ(cause("cuMemCreate", "CUDA_ERROR_ILLEGAL_STATE", "fabric"), "nvlink-fabric");
  EXPECT_EQ(cause("cuMulticastCreate", "CUDA_ERROR_SYSTEM_NOT_READY"), "nvlink-fabric");
  EXPECT_EQ(cause("cuMulticastBindMem", "CUDA_ERROR_ILLEGAL_STATE"), "nvlink-fabric");
  EXPECT_EQ(cause("cuMemSetAccess", "CUDA_ERROR_NOT_SUPPORTED", "fabric"), "nvlink-fabric");
  EXPECT_EQ(cause("cuDeviceGetDefaultMemPool", "CUDA_ERROR_NOT_SUPPORTED"), "mig");
}

TEST_F(MachineCauses, AnImportThatIsNoHandleHereIsTheImexDomain) {
  EXPECT_EQ(cause("cuMemImportFromShareableHandle", "CUDA_ERROR_INVALID_HANDLE", "fabric"),
            "imex-channels");
  EXPECT_THAT(because_, HasSubstr("different IMEX domains"));
}

TEST_F(MachineCauses, ADeviceThatIsNotVisibleIsNamedWithThoseThatAre) {
  machine_.driver = CUVMM_EMULATOR;
  machine_.nvml = CUVMM_FAKE_NVML;
  ASSERT_EQ(setenv("CUVMM_DEVICES", "1", 1), 0);
  EXPECT_EQ(cause("cuMemImportFromShareableHandle", "CUDA_ERROR_INVALID_DEVICE", "posix_fd"),
            "devices");
  EXPECT_THAT(because_, HasSubstr("the exporter's GPU is not visible to the importer"));
  EXPECT_THAT(because_, HasSubstr("of 2 that NVML sees"));
  ASSERT_EQ(setenv("CUVMM_DEVICES", "2", 1), 0);
  EXPECT_EQ(cause("cuMemImportFromShareableHandle", "CUDA_ERROR_INVALID_DEVICE", "posix_fd"), "");
  unsetenv("CUVMM_DEVICES");
}

TEST_F(MachineCauses, TooFewDescriptorsAreNamed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string found =
      cause("cuMemExportToShareableHandle", "CUDA_ERROR_OPERATING_SYSTEM", "posix_fd");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(found, "nofile");
}

TEST_F(MachineCauses, WhatTheProgramGotAfterAllOrExplainsItselfIsNotAsked) {
  Json report = {{"findings", Json::array()}, {"refusals", Json::array()}};
  const Json entry = {{"call", "cuMemCreate"},
                      {"result", "CUDA_ERROR_NOT_PERMITTED"},
                      {"arguments", {{"prop", "{handleTypes=fabric}"}}},
                      {"count", 1}};
  for (const char* why : {"handled", "of_earlier_work"}) {
    Json one = entry;
    one[why] = why == std::string("handled") ? Json(1) : Json(true);
    report["refusals"].push_back(one);
  }
  Json error = entry;
  error["kind"] = "error";
  report["findings"].push_back(error);
  const Json before = report;
  EXPECT_THAT(explain_by_machine(report, machine_), IsEmpty());
  EXPECT_EQ(report, before);
}

}  // namespace
}  // namespace cuvmm::tools
