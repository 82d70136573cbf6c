// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/options.h"

#include <charconv>
#include <cstdlib>
#include <limits>

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

namespace {

void read_kernel_options(Options& options) {
  if (const char* text = secure_getenv("CUVMM_KERNELS"); text && *text) {
    const std::string_view view(text);
    options.run_kernels = view == "run";
    if (view != "run" && view != "skip") {
      options.error = "CUVMM_KERNELS=" + std::string(view) + ": expected run or skip";
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
  read_kernel_options(options);
  return options;
}

}  // namespace cuvmm::emulator
