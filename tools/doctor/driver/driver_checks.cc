// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver/driver_checks.h"

#include <cuda.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "tools/doctor/driver/causes.h"
#include "tools/doctor/driver/trial_checks.h"
#include "tools/doctor/host/host.h"
#include "tools/doctor/host/limit_checks.h"

namespace cuvmm::doctor {

namespace {

constexpr const char* kVisibleSource = "CUDA programming guide: CUDA_VISIBLE_DEVICES";

// "CUDA 13.0".
std::string cuda_version(long long version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

Check not_loaded(const std::string& error, std::span<const Check> seen, bool in_container) {
  constexpr const char* kSource = "dlopen(3); NVIDIA Container Toolkit: driver capabilities";
  const Check* space = find(seen, "address-space");
  const bool short_of_space = error.find("failed to map") != std::string::npos ||
                              error.find("annot allocate memory") != std::string::npos;
  if (short_of_space && space && space->status == Status::kDoesNot) {
    return does_not("driver", error + " (see address-space)", space->fix, kSource);
  }
  const Check* module = find(seen, "kernel-module");
  const bool loaded = module && module->status == Status::kWorks;
  if (in_container) {
    return with_action(
        does_not("driver", error,
                 "the container gets libcuda from the host: `docker run --gpus all`, with "
                 "\"compute\" in NVIDIA_DRIVER_CAPABILITIES",
                 kSource),
        Action::kChangeContainer);
  }
  return does_not("driver", error,
                  loaded ? "install the driver's libraries (libcuda1, cuda-drivers), or name "
                           "their place with --driver"
                         : "install a driver; without a GPU, `cuvmm run --emulate` has one",
                  kSource);
}

// Called when cuInit answered NO_DEVICE. Names CUDA_VISIBLE_DEVICES as the cause if the variable
// hides every GPU, and shows its value otherwise.
void blame_visible_devices(Check& check, std::span<const Check> seen) {
  const auto visible = variable("CUDA_VISIBLE_DEVICES");
  if (!visible) return;
  // An entry that names no device hides the devices of all entries behind it.
  const bool hides_all = visible->empty() || visible->starts_with('-');
  if (hides_all) {
    check.detail = answer_text("cuInit", CUDA_ERROR_NO_DEVICE) +
                   fmt::format(": CUDA_VISIBLE_DEVICES is \"{}\", which hides every GPU", *visible);
    check.source = kVisibleSource;
  } else {
    check.detail += fmt::format(". CUDA_VISIBLE_DEVICES is \"{}\"", *visible);
  }
  const Check* nodes = find(seen, "device-nodes");
  if (hides_all || !nodes || nodes->status == Status::kWorks)
    check.fix = "unset CUDA_VISIBLE_DEVICES, or name a GPU that is there";
}

Check judge_start(const DriverAnswers& answers, std::span<const Check> seen, bool in_container) {
  const Ended& ended = answers.facts;
  const Facts& facts = ended.facts;
  const auto init = facts.number("init");
  const std::string accident = ended.accident();
  if (facts.has("load_error")) return not_loaded(facts.text("load_error"), seen, in_container);
  if (!init) {
    return with_action(
        does_not("driver", "asking it " + (accident.empty() ? "gave no answer" : accident),
                 "the kernel's log (`dmesg`) may say more; a process that hangs in the "
                 "driver often needs a reset of the GPU or a reboot",
                 ""),
        Action::kReset);
  }
  if (*init != CUDA_SUCCESS) {
    Check check = refused("driver", "cuInit", static_cast<CUresult>(*init), 0, "", seen);
    if (*init == CUDA_ERROR_NO_DEVICE) blame_visible_devices(check, seen);
    if (!ended.first_error.empty()) check.detail += ". It says: " + ended.first_error;
    if (!answers.raised.empty()) {
      check.detail += fmt::format(". With {} it {}", answers.raised,
                                  answers.raised_works ? "starts" : "does not start either");
      if (answers.raised_works) check.fix = "`" + answers.raised + "`";
    }
    return check;
  }
  const std::string text =
      fmt::format("{}{}{}", facts.text("path"),
                  facts.number("version") ? ", " + cuda_version(*facts.number("version")) : "",
                  facts.number("emulated").value_or(0) ? ", cuvmm's emulator" : "");
  if (!accident.empty()) {
    return does_not("driver", text + ": asking it " + accident, "report it to NVIDIA", "");
  }
  return works("driver", text, "CUDA driver API: cuInit");
}

// "2 x NVIDIA H200".
std::string names_text(const Facts& facts, int count) {
  std::map<std::string, int> names;
  for (int i = 0; i < count; ++i) ++names[facts.text(device_key(i) + ".name")];
  std::string text;
  for (const auto& [name, number] : names) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", number, name);
  }
  return text;
}

Check judge_devices(const Facts& facts, int nvml_devices) {
  const int count = static_cast<int>(facts.number("count").value_or(0));
  const auto visible = variable("CUDA_VISIBLE_DEVICES");
  const std::string chosen =
      visible ? fmt::format("; CUDA_VISIBLE_DEVICES is \"{}\"", *visible) : "";
  if (count == 0) {
    return does_not("devices", "the driver shows no device" + chosen,
                    visible ? "unset CUDA_VISIBLE_DEVICES, or name a GPU that is there"
                            : "give this process a GPU: see device-nodes",
                    kVisibleSource);
  }
  std::string text = names_text(facts, count) + " (";
  for (int i = 0; i < count; ++i) {
    text += (i ? ", " : "") + facts.text(device_key(i) + ".uuid");
  }
  text += ')';
  if (nvml_devices > count) text += fmt::format(", of {} that NVML sees", nvml_devices);
  return works("devices", text + chosen, kVisibleSource);
}

Check judge_mode(const Facts& facts, int count) {
  constexpr const char* kSource = "CUDA driver API: CU_DEVICE_ATTRIBUTE_COMPUTE_MODE";
  for (int i = 0; i < count; ++i) {
    const auto mode = facts.number(device_key(i) + ".compute-mode");
    if (!mode) return unknown("compute-mode", "the driver did not say", "", kSource);
    if (*mode == CU_COMPUTEMODE_DEFAULT) continue;
    return does_not("compute-mode",
                    fmt::format("device {} {}", i,
                                *mode == CU_COMPUTEMODE_PROHIBITED
                                    ? "allows no contexts (prohibited)"
                                    : "allows contexts of one process alone (exclusive); "
                                      "another's answer DEVICE_UNAVAILABLE (46)"),
                    "`nvidia-smi -c DEFAULT` on the host, or MPS", kSource);
  }
  return works("compute-mode", "default", kSource);
}

Check judge_granularity(const Facts& facts, int count) {
  constexpr const char* kSource = "CUDA driver API: cuMemGetAllocationGranularity";
  std::map<std::string, int> sizes;
  for (int i = 0; i < count; ++i) {
    const auto minimum = facts.number(device_key(i) + ".granularity");
    const auto recommended = facts.number(device_key(i) + ".recommended");
    if (!minimum || !recommended) {
      const auto code = facts.number(device_key(i) + ".granularity_code");
      return unknown(
          "granularity",
          code ? answer_text("cuMemGetAllocationGranularity", static_cast<CUresult>(*code))
               : "the driver did not say",
          "", kSource);
    }
    ++sizes[fmt::format("minimum {}, recommended {}", bytes_text(*minimum),
                        bytes_text(*recommended))];
  }
  if (sizes.size() == 1) return works("granularity", sizes.begin()->first, kSource);
  std::string text;
  for (const auto& [size, number] : sizes) {
    text += fmt::format("{}{} on {} devices", text.empty() ? "" : "; ", size, number);
  }
  return works("granularity", text, kSource);
}

Check judge_reserve(const Facts& facts, int count, std::span<const Check> seen) {
  constexpr const char* kId = "reserve";
  const auto reserved = facts.number("reserved");
  if (!reserved) return unknown(kId, "it was not tried to its end", "", "");
  std::uint64_t memory = 0;
  for (int i = 0; i < count; ++i) memory += facts.number(device_key(i) + ".memory").value_or(0);
  const auto largest = static_cast<std::uint64_t>(*reserved);
  const auto code = facts.number("reserve");
  const auto address = facts.number("reserved_at");
  const std::string text = fmt::format(
      "{}{} at once{}; the devices have {} of memory", code ? "" : "at least ", bytes_text(largest),
      address ? fmt::format(", the first at {:#x}", *address) : "", bytes_text(memory));
  const std::uint64_t needed = std::max(memory, kUsualReservation);
  if (largest >= needed || !code) {
    return works(kId, text, "CUDA driver API: cuMemAddressReserve; by trial");
  }
  Check check = refused(kId, "cuMemAddressReserve", static_cast<CUresult>(*code), 0,
                        fmt::format(" to {}", bytes_text(needed)), seen);
  check.detail = text + ". " + check.detail;
  return check;
}

Check judge_multicast(const Facts& facts, int count) {
  constexpr const char* kSource = "CUDA driver API: CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED";
  int can = 0;
  for (int i = 0; i < count; ++i)
    can += facts.number(device_key(i) + ".multicast").value_or(0) != 0;
  if (can == 0) {
    return absent("multicast", "no device says that it can",
                  "NVSwitch or NVLink multicast: HGX H100 and later, with Fabric Manager", kSource);
  }
  return unknown("multicast",
                 fmt::format("{} of {} devices say that they can; never tried, as it may disturb "
                             "others on the fabric",
                             can, count),
                 "see nvlink-fabric: a multicast object also needs Fabric Manager, and between "
                 "machines IMEX",
                 kSource);
}

}  // namespace

std::vector<Check> judge_driver(const DriverAnswers& answers, std::span<const Check> seen,
                                int nvml_devices, bool in_container) {
  std::vector<Check> checks{judge_start(answers, seen, in_container)};
  const Facts& facts = answers.facts.facts;
  const bool started = facts.number("init") == CUDA_SUCCESS;
  const int count = started ? static_cast<int>(facts.number("count").value_or(0)) : 0;
  if (started) checks.push_back(judge_devices(facts, nvml_devices));
  if (count == 0) {
    const char* cause = started ? "devices" : "driver";
    const std::string why =
        fmt::format("there is no {} (see {})", started ? "device" : "working driver", cause);
    const std::string see = fmt::format("see {}", cause);
    const std::string source = checks.back().source;
    for (const char* id : {"devices", "vmm", "reserve", "peer", "fd", "fabric", "dma-buf"}) {
      if (!find(checks, id)) checks.push_back(does_not(id, why, see, source));
    }
    for (const char* id : {"compute-mode", "granularity", "multicast"}) {
      checks.push_back(unknown(id, why, see, source));
    }
    return checks;
  }
  std::vector<Check> known(seen.begin(), seen.end());
  known.insert(known.end(), checks.begin(), checks.end());
  for (Check& check :
       std::vector<Check>{judge_mode(facts, count), judge_granularity(facts, count),
                          judge_reserve(facts, count, known), judge_multicast(facts, count)}) {
    known.push_back(check);
    checks.push_back(std::move(check));
  }
  for (Check& check : judge_trials(answers, known, count)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace cuvmm::doctor
