// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/case_workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace cuvmm::conformance {

using program::parse_program;
namespace {

// A driver that kills the process that waits for the calling process.
CUresult kill_the_worker(int*) {
  kill(getppid(), SIGKILL);
  pause();
  return CUDA_SUCCESS;
}
CUresult stop_the_worker(int*) {
  kill(getppid(), SIGSTOP);
  pause();
  return CUDA_SUCCESS;
}
CUresult one_device(int* count) { return *count = 1, CUDA_SUCCESS; }

Driver driver_with(CUresult (*get_count)(int*), CUresult (*get_version)(int*)) {
  Driver driver;
  driver.set(Symbol::k_cuDeviceGetCount, reinterpret_cast<Driver::AnyFunction>(get_count));
  driver.set(Symbol::k_cuDriverGetVersion, reinterpret_cast<Driver::AnyFunction>(get_version));
  return driver;
}

Case named(const std::string& name, const std::string& text) {
  Case test_case;
  test_case.name = name;
  test_case.program = parse_program(text).program;
  return test_case;
}

Recording run(const Driver& driver, int jobs) {
  const Case before = named("before", "cuDeviceGetCount()\n");
  const Case fatal = named("fatal", "cuDriverGetVersion()\ncuDeviceGetCount()\n");
  const Case after = named("after", "cuDeviceGetCount()\n");
  RecordOptions options;
  options.run.timeout = std::chrono::milliseconds(100);
  Recording recording;
  run_in_workers(driver, {&before, &fatal, &after}, jobs, options, recording);
  return recording;
}

using Answers = std::map<std::string, std::vector<std::string>>;

TEST(CaseWorkers, EveryCaseAnswersWhateverTheJobs) {
  for (int jobs : {0, 1, 2, 9}) {
    EXPECT_EQ(run(driver_with(one_device, one_device), jobs).cases,
              (Answers{{"before", {"CUDA_SUCCESS =1"}},
                       {"fatal", {"CUDA_SUCCESS", "CUDA_SUCCESS =1"}},
                       {"after", {"CUDA_SUCCESS =1"}}}))
        << jobs << " jobs";
  }
}

TEST(CaseWorkers, ACaseThatKillsItsWorkerIsAResultAndTheRestRuns) {
  EXPECT_EQ(
      run(driver_with(one_device, kill_the_worker), 1).cases,
      (Answers{{"before", {"CUDA_SUCCESS =1"}},
               {"fatal", {"signal:SIGKILL", "not-run: its worker has ended (signal:SIGKILL)"}},
               {"after", {"CUDA_SUCCESS =1"}}}));
}

// Regression: on an H200 a run that did not end reported nothing at all.
TEST(CaseWorkers, ACaseThatStopsItsWorkerIsATimeoutAndTheRestRuns) {
  EXPECT_EQ(run(driver_with(one_device, stop_the_worker), 1).cases,
            (Answers{{"before", {"CUDA_SUCCESS =1"}},
                     {"fatal", {"timeout", "not-run: its worker has ended (timeout)"}},
                     {"after", {"CUDA_SUCCESS =1"}}}));
}

}  // namespace
}  // namespace cuvmm::conformance
