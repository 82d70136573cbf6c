// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/measure_profile.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "api/words.h"
#include "program/run_program.h"

namespace cuvmm::conformance {

using program::Outcome;
using program::parse_program;
using program::run_program;

namespace {

// Asks one question at a time. The last statement's outcome is the answer.
class Questions {
 public:
  explicit Questions(const Driver& driver) : driver_(driver) {}

  std::vector<Outcome> run(const std::string& text) const {
    return run_program(driver_, parse_program("init()\n" + text).program, {});
  }
  /// The number that the last statement shows; nothing if the statement failed.
  std::optional<std::uint64_t> number(const std::string& text) const {
    const auto outcomes = run(text);
    if (outcomes.empty() || outcomes.back().status != Outcome::Status::kDone ||
        outcomes.back().result != CUDA_SUCCESS || outcomes.back().value.empty())
      return std::nullopt;
    return std::strtoull(outcomes.back().value.c_str(), nullptr, 0);
  }

 private:
  const Driver& driver_;
};

bool succeeded(const Outcome& outcome) {
  return outcome.status == Outcome::Status::kDone && outcome.result == CUDA_SUCCESS;
}

void measure_attributes(const Questions& ask, Profile& profile) {
  // The attributes that the base names, and all attributes for which programs have a word.
  for (const Word& word : device_attribute_words())
    profile.attributes.try_emplace(static_cast<int>(word.value), 0);
  std::string text;
  for (const auto& [number, value] : profile.attributes)
    text += "cuDeviceGetAttribute(" + std::to_string(number) + ", 0)\n";
  const auto outcomes = ask.run(text);
  std::size_t i = 1;
  for (auto& [number, value] : profile.attributes) {
    if (i < outcomes.size() && succeeded(outcomes[i]) && !outcomes[i].value.empty())
      value = std::atoi(outcomes[i].value.c_str());
    ++i;
  }
}

void measure_granularities(const Questions& ask, Profile& profile) {
  struct Row {
    const char* where;
    const char* option;
    std::uint64_t Profile::*field;
  };
  static constexpr Row kRows[] = {
      {"device=0", "minimum", &Profile::device_granularity_minimum},
      {"device=0", "recommended", &Profile::device_granularity_recommended},
      {"host_numa=0", "minimum", &Profile::host_granularity_minimum},
      {"host_numa=0", "recommended", &Profile::host_granularity_recommended},
  };
  for (const Row& row : kRows) {
    const auto answer = ask.number("g = cuMemGetAllocationGranularity(" + std::string(row.where) +
                                   ", option=" + row.option + ")\ndifference(g, 0)\n");
    if (answer) profile.*row.field = *answer;
  }
}

// For each statement whether it succeeded.
std::vector<bool> successes(const std::vector<Outcome>& outcomes) {
  std::vector<bool> good;
  for (std::size_t i = 1; i < outcomes.size(); ++i) good.push_back(succeeded(outcomes[i]));
  return good;
}

void measure_reservations(const Questions& ask, Platform& platform) {
  constexpr int kSmallest = 12;  // a page
  constexpr int kLargest = 48;
  std::string text;
  for (int bits = kSmallest; bits <= kLargest; ++bits) {
    const std::string size = std::to_string(std::uint64_t{1} << bits);
    text += "r = cuMemAddressReserve(size=" + size + ")\ncuMemAddressFree(r, " + size + ")\n";
  }
  const auto good = successes(ask.run(text));
  bool found = false;
  for (int bits = kSmallest; bits <= kLargest; ++bits) {
    const std::size_t at = static_cast<std::size_t>(bits - kSmallest) * 2;
    if (at >= good.size() || !good[at]) continue;
    if (!found) platform.reserve_granularity = std::uint64_t{1} << bits;
    platform.max_reservation = std::uint64_t{1} << bits;
    found = true;
  }
}

void measure_numa_nodes(const Questions& ask, const Profile& profile, Platform& platform) {
  constexpr int kMost = 16;
  const std::string size = std::to_string(profile.host_granularity_minimum);
  std::string text;
  for (int node = 0; node < kMost; ++node)
    text += "h = cuMemCreate(" + size + ", host_numa=" + std::to_string(node) + ")\n" +
            "cuMemRelease(h)\n";
  const auto good = successes(ask.run(text));
  std::uint64_t nodes = 0;
  while (2 * nodes < good.size() && good[2 * nodes]) ++nodes;
  if (nodes > 0) platform.numa_nodes = nodes;
}

// Asks the driver itself, because programs do not show the answer of cuMemGetInfo, most of which
// changes from run to run. 0 on failure.
std::uint64_t total_memory(const Driver& driver) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t pid = fork();
  if (pid == 0) {
    std::size_t free = 0, total = 0;
    CUcontext context = nullptr;
    const bool ready =
        driver(calls::Init{0}) == CUDA_SUCCESS &&
        driver(calls::DevicePrimaryCtxRetain{.ctx = &context, .dev = 0}) == CUDA_SUCCESS &&
        driver(calls::CtxSetCurrent{.ctx = context}) == CUDA_SUCCESS;
    if (!ready || driver(calls::MemGetInfo{&free, &total}) != CUDA_SUCCESS) total = 0;
    _exit(write(ends[1], &total, sizeof total) == sizeof total ? 0 : 1);
  }
  close(ends[1]);
  std::uint64_t total = 0;
  if (pid < 0 || read(ends[0], &total, sizeof total) != sizeof total) total = 0;
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return total;
}

// CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_*_SUPPORTED, and the bit of each.
constexpr struct {
  int attribute;
  std::uint32_t bit;
} kHandleTypes[] = {{103, 1}, {104, 2}, {105, 4}, {128, 8}};

}  // namespace

Profile measure_profile(const Driver& driver, const Recording& recording, const Profile& base,
                        const std::string& name) {
  Profile profile = base;
  profile.attributes_of_several.clear();  // the measured values hold for this number of devices
  profile.name = name;
  profile.gpu = recording.gpu;
  profile.driver = recording.driver_version;
  profile.recorded = recording.date.substr(0, 10);
  profile.source = "cuvmm conform on " + std::to_string(recording.devices) + " device(s), " +
                   std::to_string(recording.cases.size()) + " cases";
  profile.cuda_version = recording.cuda_version;
  const Questions ask(driver);
  measure_attributes(ask, profile);
  measure_granularities(ask, profile);
  if (const std::uint64_t bytes = total_memory(driver)) profile.total_memory = bytes;
  profile.platform.host_page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  measure_reservations(ask, profile.platform);
  measure_numa_nodes(ask, profile, profile.platform);
  profile.platform.handle_types = 0;
  for (const auto& row : kHandleTypes) {
    const auto found = profile.attributes.find(row.attribute);
    if (found != profile.attributes.end() && found->second)
      profile.platform.handle_types |= row.bit;
  }
  const auto made =
      ask.run("h = cuMemCreate(" + std::to_string(profile.device_granularity_minimum) +
              ", device=0, handle_types=fabric)\n");
  profile.platform.fabric_channel_known = true;
  profile.platform.fabric_channel = made.size() == 2 && succeeded(made[1]);
  return profile;
}

}  // namespace cuvmm::conformance
