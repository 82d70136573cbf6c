// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "emulator/base/device_identity.h"

namespace cuvmm::emulator {

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return value;
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = kUnits.find(suffix[0]);
  if (suffix.size() != 1 || unit == std::string_view::npos) return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(unit) + 1);
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

std::optional<StreamsOption> parse_streams(std::string_view text) {
  if (text == "eager") return StreamsOption{};
  if (text == "late") return StreamsOption{.late = true};
  constexpr std::string_view kSeeded = "late:";
  if (!text.starts_with(kSeeded)) return std::nullopt;
  text.remove_prefix(kSeeded.size());
  StreamsOption option{.late = true};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, option.seed);
  return error == std::errc{} && end == last ? std::optional(option) : std::nullopt;
}

std::optional<Outage> outage_named(std::string_view name) {
  constexpr std::pair<std::string_view, Outage> kAll[] = {
      {"domains", Outage::kDomains},
      {"imex-daemon", Outage::kImexDaemon},
      {"fabric-manager", Outage::kFabricManager},
      {"fabric-lost", Outage::kFabricLost},
      {"multicast-groups", Outage::kGroups},
      {"no-fabric", Outage::kNoFabric},
      {"large-granularity", Outage::kLargeGranularity},
      {"rank-killed", Outage::kRankKilled}};
  for (const auto& [known, outage] : kAll) {
    if (name == known) return outage;
  }
  return std::nullopt;
}

namespace {

// The device that an entry names; -1: no device. Only the leading digits of a number count. The
// beginning of a UUID is enough if no other device's UUID begins so.
int device_named(std::string_view entry, int count, int first_device) {
  const std::size_t first = entry.find_first_not_of(" \t");
  if (first == entry.npos) return -1;
  entry.remove_prefix(first);
  entry = entry.substr(0, entry.find_last_not_of(" \t") + 1);
  if (!entry.starts_with("GPU-")) {
    if (entry.starts_with('+')) entry.remove_prefix(1);
    int number = -1;
    std::from_chars(entry.data(), entry.data() + entry.size(), number);
    return number < count ? number : -1;
  }
  int named = -1;
  for (int device = 0; device < count; ++device) {
    if (!uuid_text(first_device + device).starts_with(entry)) continue;
    if (named >= 0) return -1;
    named = device;
  }
  return named;
}

void read_host(Options& options) {
  const char* const text = secure_getenv("CUVMM_HOST");
  if (!text || !*text) return;
  const std::string_view view(text);
  const char* const last = view.data() + view.size();
  const auto [slash, wrong] = std::from_chars(view.data(), last, options.host);
  const bool first = wrong == std::errc{} && slash != last && *slash == '/';
  const auto [end, error] = std::from_chars(first ? slash + 1 : last, last, options.hosts);
  if (first && error == std::errc{} && end == last && options.host >= 0 &&
      options.host < options.hosts && options.hosts <= VisibleDevices::kMost &&
      options.hosts * options.devices <= VisibleDevices::kMost) {
    return;
  }
  options.error = "CUVMM_HOST=" + std::string(view) + ": expected HOST/HOSTS, such as 0/2, with " +
                  "at most " + std::to_string(VisibleDevices::kMost) + " devices in all";
}

void read_kernel_options(Options& options) {
  if (const char* text = secure_getenv("CUVMM_KERNELS"); text && *text) {
    const std::string_view view(text);
    const std::optional<KernelChecks> checks = parse_kernel_checks(view);
    options.kernel_checks = checks.value_or(KernelChecks{});
    options.run_kernels = view != "skip";
    if (view != "run" && view != "skip" && !checks) {
      options.error = "CUVMM_KERNELS=" + std::string(view) +
                      ": expected run, skip, check or check:memory,init,race,sync";
    }
  }
  if (const char* text = secure_getenv("CUVMM_KERNEL_STEPS"); text && *text) {
    const std::string_view view(text);
    const auto [end, error] =
        std::from_chars(view.data(), view.data() + view.size(), options.kernel_steps);
    if (error != std::errc{} || end != view.data() + view.size() || options.kernel_steps == 0) {
      options.error =
          "CUVMM_KERNEL_STEPS=" + std::string(view) + ": expected a number of instructions";
    }
  }
}

}  // namespace

// The rules are those of the CUDA Programming Guide, CUDA_VISIBLE_DEVICES. Where it is silent, the
// rules are PyTorch's (torch/cuda/__init__.py), which counts devices before CUDA starts.
std::vector<int> visible_devices(const char* text, int count, int first) {
  std::vector<int> visible;
  if (!text) {
    for (int device = 0; device < count; ++device) visible.push_back(first + device);
    return visible;
  }
  std::string_view rest(text);
  while (true) {
    const std::size_t end = rest.find(',');
    const int named = device_named(rest.substr(0, end), count, first);
    if (named < 0) return visible;
    const int device = first + named;
    if (std::ranges::find(visible, device) != visible.end()) return {};
    visible.push_back(device);
    if (end == rest.npos) return visible;
    rest.remove_prefix(end + 1);
  }
}

Options read_options() {
  Options options;
  if (const char* text = secure_getenv("CUVMM_PROFILE")) options.profile = text;
  if (const char* text = secure_getenv("CUVMM_DEVICES"); text && *text) {
    const std::string_view view(text);
    int count = -1;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), count);
    if (error != std::errc{} || end != view.data() + view.size() || count < 0 ||
        count > kMaxDevices) {
      options.error = "CUVMM_DEVICES=" + std::string(view) + ": expected a count from 0 to " +
                      std::to_string(kMaxDevices);
    }
    options.devices = count;
  }
  read_host(options);
  if (const char* text = secure_getenv("CUVMM_OUTAGE"); text && *text) {
    const auto outage = outage_named(text);
    if (!outage)
      options.error = "CUVMM_OUTAGE=" + std::string(text) + ": expected one of " + kOutageNames;
    options.outage = outage.value_or(Outage::kNone);
  }
  if (const char* text = secure_getenv("CUVMM_DEVICE_MEMORY"); text && *text) {
    const auto bytes = parse_bytes(text);
    if (!bytes || *bytes == 0) {
      options.error = "CUVMM_DEVICE_MEMORY=" + std::string(text) +
                      ": expected bytes, with an optional K, M, G or T, such as 80G";
    }
    options.device_memory = bytes.value_or(0);
  }
  if (const char* text = secure_getenv("CUVMM_MULTICAST_TIMEOUT_MS"); text && *text) {
    const std::string_view view(text);
    const auto [end, error] =
        std::from_chars(view.data(), view.data() + view.size(), options.multicast_timeout_ms);
    if (error != std::errc{} || end != view.data() + view.size()) {
      options.error =
          "CUVMM_MULTICAST_TIMEOUT_MS=" + std::string(view) + ": expected a number of milliseconds";
    }
  }
  if (const char* text = secure_getenv("CUVMM_STREAMS"); text && *text) {
    const auto streams = parse_streams(text);
    if (!streams) {
      options.error = "CUVMM_STREAMS=" + std::string(text) +
                      ": expected eager, late, or late:SEED with a number";
    }
    options.streams = streams.value_or(StreamsOption{});
  }
  if (const char* text = secure_getenv("CUVMM_FAULTS"); text && *text) {
    options.context_faults = std::string_view(text) == "context";
    if (!options.context_faults && std::string_view(text) != "device")
      options.error = "CUVMM_FAULTS=" + std::string(text) + ": expected device or context";
  }
  read_kernel_options(options);
  return options;
}

}  // namespace cuvmm::emulator
