// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tools/doctor/driver/driver_checks.h"
#include "tools/doctor/driver/driver_trials.h"
#include "tools/doctor/host/limit_checks.h"
#include "tools/doctor/host/machine_checks.h"
#include "tools/doctor/host/pidfd.h"
#include "tools/doctor/nvml/nvml_facts.h"

namespace cuvmm::doctor {

namespace {

// CU_MEM_HANDLE_TYPE_FABRIC, which old headers lack.
constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(8);

// Starts two children that share memory. Each child closes the other child's end of the socket, so
// that its own end fails when the other child dies.
void start_sharing(Children& children, const std::string& name, CUmemAllocationHandleType type,
                   const std::string& driver) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) ends[0] = ends[1] = -1;
  children.start(name + " export", [&](const Reporter& say) {
    close(ends[1]);
    try_export(driver, type, ends[0], say);
  });
  if (ends[0] >= 0) close(ends[0]);
  children.start(name + " import",
                 [&](const Reporter& say) { try_import(driver, type, ends[1], say); });
  if (ends[1] >= 0) close(ends[1]);
}

// Raises the soft limits to the hard limits. Returns the shell commands that do the same; "" if no
// limit can be raised.
std::string raise_limits() {
  std::string how;
  const auto raise = [&](__rlimit_resource resource, const char* option) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) != 0) return;
    const std::string value = limit.rlim_max == RLIM_INFINITY ? "unlimited"
                              : resource == RLIMIT_AS         ? std::to_string(limit.rlim_max >> 10)
                                                              : std::to_string(limit.rlim_max);
    how += fmt::format("{}ulimit -S{} {}", how.empty() ? "" : "; ", option, value);
  };
  raise(RLIMIT_NOFILE, "n");
  raise(RLIMIT_AS, "v");
  return how;
}

// Called if the driver did not start. Finds out whether it starts with raised limits.
void try_raised_limits(const DoctorOptions& options, DriverAnswers& answers) {
  Children children;
  children.start("raised", [&](const Reporter& say) {
    const std::string how = raise_limits();
    say.fact("how", how);
    if (!how.empty()) ask_driver(options.driver, say);
  });
  const Ended ended = children.wait(options.limit)["raised"];
  answers.raised = ended.facts.text("how");
  answers.raised_works = ended.facts.number("init") == CUDA_SUCCESS;
}

}  // namespace

std::string chosen_driver(const std::string& driver) {
  if (!driver.empty()) return driver;
  const char* const named = std::getenv("CUVMM_DRIVER");
  return named && *named ? named : DoctorOptions().driver;
}

std::string nvml_beside(const std::string& driver) {
  const auto beside = std::filesystem::path(driver).parent_path() / "libnvidia-ml.so.1";
  return driver.find('/') != std::string::npos && access(beside.c_str(), R_OK) == 0
             ? beside.string()
             : "libnvidia-ml.so.1";
}

std::vector<Check> diagnose(const DoctorOptions& options) {
  Children children;
  const std::string& driver = options.driver;
  children.start("facts", [&](const Reporter& say) { ask_driver(driver, say); });
  children.start("mapping", [&](const Reporter& say) { try_mapping(driver, say); });
  children.start("dma-buf", [&](const Reporter& say) { try_dma_buf(driver, say); });
  start_sharing(children, "fd", CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, driver);
  start_sharing(children, "fabric", kFabric, driver);
  children.start("nvml", [&](const Reporter& say) { ask_nvml(options.nvml, say); });

  // These checks need no driver, so they run while the children do.
  std::vector<Check> checks = check_machine(options.host);
  FileLimit files = read_file_limit();
  AddressSpace space = try_address_space(options.host);
  checks.push_back(judge_pidfd(try_pidfd(options.host)));
  checks.push_back(check_shm(options.host));

  auto ended = children.wait(options.limit);
  DriverAnswers answers{ended["facts"],
                        ended["mapping"],
                        ended["dma-buf"],
                        ended["fd export"],
                        ended["fd import"],
                        ended["fabric export"],
                        ended["fabric import"],
                        "",
                        false};
  const Facts& facts = answers.facts.facts;
  if (facts.number("init") != CUDA_SUCCESS) try_raised_limits(options, answers);

  if (const auto held = facts.number("descriptors")) files.by_driver = *held;
  const long long count = facts.number("count").value_or(0);
  for (long long i = 0; i < count; ++i) {
    space.devices += facts.number(fmt::format("device.{}.memory", i)).value_or(0);
  }
  checks.push_back(judge_files(files));
  checks.push_back(judge_address_space(space));
  for (Check& check : judge_nvml(ended["nvml"])) checks.push_back(std::move(check));
  for (Check& check : judge_driver(answers, checks, nvml_devices(ended["nvml"]),
                                   !options.host.container().empty())) {
    checks.push_back(std::move(check));
  }
  put_in_order(checks);
  return checks;
}

}  // namespace cuvmm::doctor
