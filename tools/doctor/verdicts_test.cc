// SPDX-License-Identifier: Apache-2.0
// The verdicts about answers of pidfd_getfd, of a driver and of NVML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "tools/doctor/children.h"
#include "tools/doctor/doctor_output.h"
#include "tools/doctor/driver/causes.h"
#include "tools/doctor/driver/driver_checks.h"
#include "tools/doctor/host/pidfd.h"
#include "tools/doctor/nvml/nvml_facts.h"

namespace cuvmm::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;
constexpr auto kLimit = std::chrono::seconds(20);

// --- pidfd

TEST(Pidfd, SeccompIsToldFromTheKernel) {
  PidfdFacts facts{.reach = EPERM, .sibling = EPERM, .allowed = EPERM, .child = EPERM};
  facts.seccomp = true;
  facts.ptrace_scope = 1;
  EXPECT_THAT(judge_pidfd(facts).detail, HasSubstr("seccomp"));
  EXPECT_THAT(judge_pidfd(facts).fix, HasSubstr("SYS_PTRACE"));
}

TEST(Pidfd, YamaIsNamedWithWhatWasTried) {
  PidfdFacts facts{.reach = EBADF, .sibling = EPERM, .allowed = 0, .child = 0};
  facts.ptrace_scope = 1;
  const Check check = judge_pidfd(facts);
  EXPECT_EQ(check.status, Status::kDoesNot);
  EXPECT_THAT(check.detail, HasSubstr("ptrace_scope is 1, without CAP_SYS_PTRACE"));
  EXPECT_THAT(check.detail, HasSubstr("a parent may take from its children"));
  EXPECT_THAT(check.fix, HasSubstr("PR_SET_PTRACER_ANY"));
  facts.ptrace_scope = 3;
  facts.allowed = facts.child = EPERM;
  EXPECT_THAT(judge_pidfd(facts).fix, HasSubstr("reboot"));
}

TEST(Pidfd, OtherReasonsAreNamedOrSaidToBeUnknown) {
  PidfdFacts facts{.reach = EBADF, .sibling = EPERM, .allowed = EPERM, .child = EPERM};
  facts.dumpable = false;
  EXPECT_THAT(judge_pidfd(facts).detail, HasSubstr("not dumpable"));
  facts.dumpable = true;
  facts.security_module = "docker-default (enforce)";
  EXPECT_THAT(judge_pidfd(facts).detail, HasSubstr("docker-default"));
  facts.security_module = "";
  EXPECT_THAT(judge_pidfd(facts).detail, HasSubstr("none of the known reasons"));
  facts.reach = facts.sibling = facts.open = ENOSYS;
  EXPECT_THAT(judge_pidfd(facts).fix, HasSubstr("Linux 5.6"));
  facts.tried = false;
  EXPECT_EQ(judge_pidfd(facts).status, Status::kUnknown);
}

TEST(Pidfd, TrialAgreesWithTheKernel) {
  const PidfdFacts facts = try_pidfd(Host());
  if (!facts.tried) GTEST_SKIP() << "no processes";
  if (facts.reach == EBADF && facts.ptrace_capability && facts.dumpable &&
      facts.ptrace_scope.value_or(0) < 3) {
    EXPECT_EQ(facts.sibling, 0);
  }
  EXPECT_EQ(judge_pidfd(facts).status == Status::kWorks, facts.sibling == 0);
}

// --- children

TEST(ChildrenTest, CrashAndHangHaveAPlace) {
  Children children;
  children.start("crash", [](const Reporter& say) {
    say.fact("before", 1);
    say.step("cuInit");
    kill(getpid(), SIGSEGV);
  });
  children.start("speaks", [](const Reporter& say) { say.fact("text", "a\nb=c"); });
  children.start("leaves", [](const Reporter&) {
    [[maybe_unused]] const auto n = write(STDERR_FILENO, "no more\nof it", 13);
    _exit(3);
  });
  auto ended = children.wait(kLimit);
  EXPECT_THAT(ended["crash"].accident(), HasSubstr("ended by signal 11"));
  EXPECT_THAT(ended["crash"].accident(), HasSubstr("in cuInit"));
  EXPECT_EQ(ended["crash"].facts.number("before"), 1);
  EXPECT_EQ(ended["speaks"].facts.text("text"), "a b=c");
  EXPECT_TRUE(ended["speaks"].whole());
  EXPECT_EQ(ended["leaves"].accident(), "ended the process with exit code 3: no more");

  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  children.start("hang", [&](const Reporter& say) {
    say.step("cuMemCreate");
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);  // the child runs: a busy machine may start it late
  ended = children.wait(std::chrono::milliseconds(200));
  close(ready[0]);
  close(ready[1]);
  EXPECT_THAT(ended["hang"].accident(), HasSubstr("did not come back in cuMemCreate"));
}

// --- the driver

Ended answered(std::initializer_list<std::pair<const char*, const char*>> facts) {
  Ended ended;
  ended.how = Ended::How::kExited;
  for (const auto& [key, value] : facts) ended.facts.set(key, value);
  return ended;
}

const Ended kFine = answered({{"init", "0"}, {"count", "1"}, {"device.0", "0"}});

DriverAnswers one_device() {
  DriverAnswers answers{kFine, kFine, kFine, kFine, kFine, kFine, kFine, "", false};
  for (const auto& [key, value] : {std::pair{"device.0.name", "NVIDIA H200"},
                                   {"device.0.compute-mode", "0"},
                                   {"device.0.memory", "150109880320"},
                                   {"device.0.granularity", "2097152"},
                                   {"device.0.recommended", "2097152"},
                                   {"device.0.multicast", "1"},
                                   {"reserved", "1099511627776"}}) {
    answers.facts.facts.set(key, value);
  }
  return answers;
}

Check judged(const DriverAnswers& answers, const char* id, std::vector<Check> seen = {},
             bool container = false) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  const std::vector<Check> checks = judge_driver(answers, seen, -1, container);
  const Check* check = find(checks, id);
  EXPECT_NE(check, nullptr) << id;
  return check ? *check : Check{};
}

TEST(DriverVerdicts, WorkWhereAllAnswersAreSuccess) {
  for (const char* id : {"driver", "devices", "compute-mode", "granularity", "reserve", "vmm", "fd",
                         "fabric", "dma-buf"}) {
    EXPECT_EQ(judged(one_device(), id).status, Status::kWorks) << id;
  }
  EXPECT_EQ(judged(one_device(), "multicast").status, Status::kUnknown);
  EXPECT_EQ(judged(one_device(), "peer").status, Status::kDoesNot);
}

TEST(DriverVerdicts, EveryCheckOfTheTableIsMadeOnce) {
  for (const DriverAnswers& answers : {one_device(), DriverAnswers{}}) {
    std::vector<Check> checks = judge_driver(answers, {}, -1, false);
    for (Check& check : judge_nvml(Ended{})) checks.push_back(std::move(check));
    for (const CheckInfo& info : check_table()) {
      if (std::string_view(info.section) == "machine") continue;
      EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                              [&](const Check& check) { return check.id == info.id; }),
                1)
          << info.id;
    }
  }
}

TEST(DriverVerdicts, MissingChannelIsTheCauseOf800) {
  DriverAnswers answers = one_device();
  answers.fabric_export.facts.set("device.0", "800");
  answers.fabric_export.facts.set("device.0.call", "cuMemCreate");
  answers.fabric_import = answered({{"init", "0"}, {"count", "1"}});
  const Check channels = does_not("imex-channels", "there is no channel", "mknod", "");
  const Check because = judged(answers, "fabric", {channels});
  EXPECT_EQ(because.status, Status::kDoesNot);
  EXPECT_THAT(because.detail, HasSubstr("cuMemCreate answered CUDA_ERROR_NOT_PERMITTED (800)"));
  EXPECT_THAT(because.detail, HasSubstr("(see imex-channels)"));
  EXPECT_EQ(because.fix, "mknod");
  // The machine has a channel, so the known cause (no channel) is not the cause here.
  const Check elsewhere = judged(answers, "fabric", {works("imex-channels", "channel0", "")});
  EXPECT_THAT(elsewhere.detail, HasSubstr("Not seen to be so here: imex-channels works"));
  EXPECT_THAT(elsewhere.detail, Not(HasSubstr("see imex")));
}

TEST(DriverVerdicts, ImporterIsToldFromExporter) {
  DriverAnswers answers = one_device();
  answers.fabric_import.facts.set("device.0", "400");
  answers.fabric_import.facts.set("device.0.call", "cuMemImportFromShareableHandle");
  EXPECT_THAT(judged(answers, "fabric").detail, HasSubstr("IMEX daemon is down"));
  answers = one_device();
  answers.fd_import.how = Ended::How::kKilled;
  answers.fd_import.code = SIGSEGV;
  answers.fd_import.step = "cuMemMap";
  EXPECT_THAT(judged(answers, "fd").detail, HasSubstr("the importer ended by signal 11"));
  EXPECT_EQ(judged(answers, "fabric").status, Status::kWorks);
}

// Failures that users reported (docs/threads.md), one thread per row: the call, its code, and the
// check that shows the cause.
TEST(KnownCause, IsTheCheckThatDoesNotWork) {
  struct {
    const char* call;
    CUresult code;
    int handle_type;
    const char* check;
    const char* because;
  } const kMet[] = {
      {"cuMemCreate", CUDA_ERROR_NOT_PERMITTED, kFabric, "imex-channels", "no IMEX channel"},
      {"cuMemCreate", CUDA_ERROR_NOT_SUPPORTED, kDescriptor, "platform", "cannot export"},
      {"cuMemCreate", CUDA_ERROR_NOT_SUPPORTED, 0, "vgpu", "does not have this"},
      {"cuMemCreate", CUDA_ERROR_ILLEGAL_STATE, kFabric, "nvlink-fabric", "stale"},
      {"cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_HANDLE, kFabric, "imex-daemon",
       "different IMEX domains"},
      {"cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_DEVICE, kDescriptor, "devices",
       "not visible to the importer"},
      {"cuMemSetAccess", CUDA_ERROR_NOT_SUPPORTED, kFabric, "imex-daemon", "two IMEX domains"},
      {"cuMemSetAccess", CUDA_ERROR_INVALID_VALUE, kFabric, "imex-daemon", "only checked here"},
      {"cuMemAddressReserve", CUDA_ERROR_OUT_OF_MEMORY, 0, "platform", "not memory of the device"},
      {"cuMemAddressReserve", CUDA_ERROR_OUT_OF_MEMORY, 0, "address-space", "address space"},
      {"cuMemExportToShareableHandle", CUDA_ERROR_OPERATING_SYSTEM, kDescriptor, "nofile",
       "too many are open"},
      {"cuMulticastCreate", CUDA_ERROR_SYSTEM_NOT_READY, 0, "nvlink-fabric", "Fabric Manager"},
  };
  for (const auto& met : kMet) {
    const Check broken[] = {does_not(met.check, "", "mend it", "")};
    const auto cause = known_cause(met.call, met.code, met.handle_type, broken);
    ASSERT_TRUE(cause) << met.call;
    EXPECT_EQ(cause->check, met.check);
    EXPECT_EQ(cause->fix, "mend it");
    EXPECT_THAT(cause->because, HasSubstr(met.because));
    const Check fine[] = {works(met.check, "", "")};
    EXPECT_FALSE(known_cause(met.call, met.code, met.handle_type, fine)) << met.call;
  }
  EXPECT_FALSE(known_cause("cuMemMap", CUDA_ERROR_INVALID_CONTEXT, 0, {}));
}

TEST(KnownCause, ADeviceThatIsNotVisibleIsToldFromThoseThatAre) {
  const auto cause_among = [](const char* detail) {
    const Check devices[] = {works("devices", detail, "")};
    return known_cause("cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_DEVICE, kDescriptor,
                       devices);
  };
  const auto cause = cause_among("H200 (GPU-1); CUDA_VISIBLE_DEVICES is \"1\"");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->check, "devices");
  EXPECT_THAT(cause->because, HasSubstr("here are H200 (GPU-1); CUDA_VISIBLE_DEVICES is \"1\""));
  EXPECT_TRUE(cause_among("H200 (GPU-1), of 2 that NVML sees"));
  EXPECT_FALSE(cause_among("2 x H200 (GPU-1, GPU-2)")) << "all are visible";
}

TEST(DriverVerdicts, CodeWithoutAKnownCauseIsSaidToHaveNone) {
  DriverAnswers answers = one_device();
  answers.mapping.facts.set("device.0", "208");
  answers.mapping.facts.set("device.0.call", "cuMemMap");
  EXPECT_THAT(judged(answers, "vmm").detail, HasSubstr("no cause of that is known"));
}

TEST(DriverVerdicts, UnfinishedTrialsAreUnknown) {
  DriverAnswers answers = one_device();
  answers.dma_buf = answered({{"init", "0"}});
  EXPECT_EQ(judged(answers, "dma-buf").status, Status::kUnknown);
}

TEST(DriverVerdicts, StartFailsForTheReasonThatIsSeen) {
  DriverAnswers answers;
  answers.facts = answered({{"path", "/lib/libcuda.so.1"}, {"init", "2"}});
  const Check space = does_not("address-space", "1 GiB", "`ulimit -v unlimited`", "");
  EXPECT_THAT(judged(answers, "driver", {space}).detail, HasSubstr("(see address-space)"));
  EXPECT_EQ(judged(answers, "driver", {space}).fix, "`ulimit -v unlimited`");
  answers.raised = "ulimit -Sv unlimited";
  answers.raised_works = true;
  EXPECT_THAT(judged(answers, "driver", {space}).detail,
              HasSubstr("With ulimit -Sv unlimited it starts"));
  EXPECT_EQ(judged(answers, "vmm").status, Status::kDoesNot);
  EXPECT_EQ(judged(answers, "granularity").status, Status::kUnknown);
}

TEST(DriverVerdicts, DriverThatCrashesOrIsMissingIsToldApart) {
  DriverAnswers answers;
  answers.facts.how = Ended::How::kKilled;
  answers.facts.code = SIGSEGV;
  answers.facts.step = "cuInit";
  EXPECT_THAT(judged(answers, "driver").detail, HasSubstr("ended by signal 11"));
  answers.facts = answered({{"load_error", "libcuda.so.1: cannot open shared object file"}});
  EXPECT_THAT(judged(answers, "driver").fix, HasSubstr("--emulate"));
  EXPECT_THAT(judged(answers, "driver", {}, true).fix, HasSubstr("--gpus all"));
}

TEST(DriverVerdicts, ExclusiveModeIsNamed) {
  DriverAnswers answers = one_device();
  answers.facts.facts.set("device.0.compute-mode", "3");
  EXPECT_THAT(judged(answers, "compute-mode").detail, HasSubstr("exclusive"));
}

TEST(DriverVerdicts, ReservationsMustHoldTheDevicesMemory) {
  DriverAnswers answers = one_device();
  answers.facts.facts.set("reserved", "17179869184");
  answers.facts.facts.set("reserve", "2");
  const Check tegra = does_not("platform", "a Tegra", "reserve less", "");
  const Check check = judged(answers, "reserve", {works("address-space", "", ""), tegra});
  EXPECT_EQ(check.status, Status::kDoesNot);
  EXPECT_THAT(check.detail, HasSubstr("16 GiB at once; the devices have 139.8 GiB of memory"));
  answers.facts.facts.set("reserved_at", "12918456320");
  EXPECT_THAT(judged(answers, "reserve").detail,
              HasSubstr("16 GiB at once, the first at 0x302000000; the devices have"));
  EXPECT_THAT(check.detail, HasSubstr("(see platform)"));
  EXPECT_EQ(check.fix, "reserve less");
}

TEST(DriverVerdicts, PairThatCannotReachEachOtherIsNamed) {
  DriverAnswers answers = one_device();
  answers.facts.facts.set("count", "2");
  answers.mapping.facts.set("peer.0.1.unreachable", "1");
  EXPECT_THAT(judged(answers, "peer").detail, HasSubstr("device 1 cannot reach device 0"));
}

// --- NVML

Ended nvml(std::initializer_list<std::pair<const char*, const char*>> facts) {
  Ended ended = answered({{"init", "0"},
                          {"count", "1"},
                          {"version", "580.159.04"},
                          {"device.0.fabric", "0"},
                          {"device.0.fabric.state", "3"},
                          {"device.0.fabric.status", "0"},
                          {"device.0.fabric.clique", "7"},
                          {"device.0.fabric.cluster", "00000000000000000000000000000000"},
                          {"device.0.mig", "3"},
                          {"device.0.virtualization", "0"},
                          {"device.0.virtualization.mode", "1"},
                          {"confidential", "0"},
                          {"confidential.feature", "0"}});
  for (const auto& [key, value] : facts) ended.facts.set(key, value);
  return ended;
}

Check judged_nvml(const Ended& answers, const char* id) {
  const std::vector<Check> checks = judge_nvml(answers);
  const Check* check = find(checks, id);
  EXPECT_NE(check, nullptr) << id;
  return check ? *check : Check{};
}

TEST(NvmlVerdicts, WorkWhereNothingIsTakenAway) {
  for (const char* id : {"nvml", "nvlink-fabric", "mig", "vgpu", "confidential-computing"}) {
    EXPECT_EQ(judged_nvml(nvml({}), id).status, Status::kWorks) << id;
  }
  EXPECT_THAT(judged_nvml(nvml({}), "nvlink-fabric").detail, HasSubstr("clique 7"));
  const Ended cluster = nvml({{"device.0.fabric.cluster", "0123456789abcdef0123456789abcdef"}});
  EXPECT_THAT(judged_nvml(cluster, "nvlink-fabric").detail, HasSubstr("0123456789abcdef"));
}

TEST(NvmlVerdicts, FabricThatIsNotReadyOrNotHealthyIsNamed) {
  const auto detail = [](const char* key, const char* value) {
    const Check check = judged_nvml(nvml({{key, value}}), "nvlink-fabric");
    EXPECT_EQ(check.status, Status::kDoesNot);
    return check.detail;
  };
  EXPECT_THAT(detail("device.0.fabric.state", "0"), HasSubstr("no NVLink fabric"));
  EXPECT_THAT(detail("device.0.fabric.state", "1"), HasSubstr("not begun"));
  EXPECT_THAT(detail("device.0.fabric.state", "2"), HasSubstr("not finished"));
  EXPECT_THAT(detail("device.0.fabric.status", "999"), HasSubstr("failed"));
  EXPECT_THAT(detail("device.0.fabric.health", "1"), HasSubstr("bandwidth is degraded"));
  EXPECT_THAT(detail("device.0.fabric.health", "1024"), HasSubstr("in no partition"));
  EXPECT_EQ(judged_nvml(nvml({{"device.0.fabric.health", "426"}}), "nvlink-fabric").status,
            Status::kWorks);  // 0x1aa: each field says "no trouble"
}

TEST(NvmlVerdicts, ModesThatTakeSomethingAwayDoNotWork) {
  EXPECT_EQ(judged_nvml(nvml({{"device.0.mig", "0"}, {"device.0.mig.current", "1"}}), "mig").status,
            Status::kDoesNot);
  EXPECT_EQ(judged_nvml(nvml({{"device.0.virtualization.mode", "2"}}), "vgpu").status,
            Status::kDoesNot);
  EXPECT_EQ(judged_nvml(nvml({{"confidential.feature", "1"}}), "confidential-computing").status,
            Status::kDoesNot);
}

TEST(NvmlVerdicts, WhatNvmlDoesNotSayIsUnknown) {
  for (const auto& [key, id] : {std::pair{"device.0.fabric", "nvlink-fabric"},
                                {"device.0.mig", "mig"},
                                {"device.0.virtualization", "vgpu"},
                                {"confidential", "confidential-computing"}}) {
    const Check check = judged_nvml(nvml({{key, "missing"}}), id);
    EXPECT_EQ(check.status, Status::kUnknown) << id;
    EXPECT_THAT(check.detail, HasSubstr("this NVML has no nvml"));
  }
  const Ended absent = answered({{"load_error", "libnvidia-ml.so.1: cannot open"}});
  EXPECT_EQ(judged_nvml(absent, "nvml").status, Status::kDoesNot);
  EXPECT_EQ(judged_nvml(absent, "nvlink-fabric").status, Status::kUnknown);
}

// fake_nvml.cc lacks functions, and answers as NVML does while Fabric Manager still sets up.
TEST(NvmlLibrary, IsAskedForWhatItHas) {
  const auto asked = [](const std::string& library) {
    Children children;
    children.start("nvml", [&](const Reporter& say) { ask_nvml(library, say); });
    return children.wait(kLimit)["nvml"];
  };
  const Ended ended = asked(CUVMM_FAKE_NVML);
  EXPECT_TRUE(ended.whole()) << ended.accident();
  EXPECT_EQ(nvml_devices(ended), 2);
  EXPECT_THAT(judged_nvml(ended, "nvml").detail, HasSubstr("driver 1.2.3, 2 GPUs"));
  EXPECT_THAT(judged_nvml(ended, "nvlink-fabric").detail, HasSubstr("device 1: the set-up is not"));
  EXPECT_THAT(judged_nvml(ended, "mig").detail, HasSubstr("on for device 1"));
  EXPECT_EQ(judged_nvml(ended, "vgpu").status, Status::kUnknown);  // the library lacks the function
  EXPECT_EQ(judged_nvml(ended, "confidential-computing").status, Status::kDoesNot);
  EXPECT_EQ(judged_nvml(asked("/no/such/nvml"), "nvml").status, Status::kDoesNot);
}

// --- output

TEST(Output, FitsEightyColumnsAndSaysWhatIsMissing) {
  const std::string long_text(
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen");
  const std::vector<Check> checks{works("driver", long_text, "s"),
                                  does_not("fd", long_text, long_text, long_text),
                                  unknown("mig", "no", "", "")};
  const std::vector<std::string> needed{"driver", "fd", "mig"};
  const std::string text = doctor_text(checks, needed);
  EXPECT_THAT(text, HasSubstr("driver\n  works     driver: one two"));
  EXPECT_THAT(text, HasSubstr("1 work, 1 do not, 1 unknown; needed, but not there: fd, mig\n"));
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    EXPECT_LE(text.find('\n', start) - start, 80u);
  }
  EXPECT_THAT(text, Not(HasSubstr("--emulate")));
  const std::vector<Check> no_driver{does_not("driver", "none", "", "")};
  EXPECT_THAT(doctor_text(no_driver, {}),
              HasSubstr("The emulator works without a driver: cuvmm run --emulate"));
  EXPECT_EQ(unmet(checks, needed).size(), 2u);
  EXPECT_THAT(doctor_json(checks), HasSubstr("\"status\": \"does not\""));
}

}  // namespace
}  // namespace cuvmm::doctor
