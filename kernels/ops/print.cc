// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/print.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/ops/opcodes.h"
#include "kernels/run/heap.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

constexpr std::size_t kLongest = 4096;  // characters of a string

// Reads a lane's memory.
class Lane {
 public:
  Lane(Warp& warp, const Instruction& i, unsigned lane) : warp_(warp), i_(i), lane_(lane) {}

  template <class T>
  T local(std::uint64_t offset) {
    // Register `e` holds the address of the frame in which the arguments lie.
    return read<T>(kLocalWindow + warp_.reg(i_.e)[lane_] + offset);
  }
  template <class T>
  T read(std::uint64_t address) {
    Instruction generic = i_;
    generic.space = Space::kNone;
    T value{};
    const char* at = warp_.at(generic, lane_, address, sizeof(T), false);
    if (at) std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::string text(std::uint64_t address) {
    std::string out;
    while (out.size() < kLongest && !warp_.block().grid().failed()) {
      const char c = read<char>(address + out.size());
      if (c == '\0') break;
      out += c;
    }
    return out;
  }

 private:
  Warp& warp_;
  const Instruction& i_;
  unsigned lane_;
};

template <class T>
std::string printed(const std::string& format, T value) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), format.c_str(), value);
  return text.data();
}

// A `%...` of a format, with the arguments that it takes from `at`.
class Conversion {
 public:
  Conversion(Lane& lane, std::uint64_t& at) : lane_(lane), at_(at) {}

  // Reads the conversion from format[*i], which is `%`, and moves *i behind it.
  std::string run(const std::string& format, std::size_t& i) {
    std::string flags = "%";
    bool wide = false;
    for (++i; i < format.size(); ++i) {
      const char c = format[i];
      if (c == '*') {
        flags += std::to_string(next<std::int32_t>());
      } else if (std::strchr("-+ #0123456789.", c)) {
        flags += c;
      } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
        wide = true;
      } else if (c != 'h') {
        ++i;
        return converted(c, wide, flags.substr(0, kMostFlags));
      }
    }
    return flags;
  }

 private:
  static constexpr std::size_t kMostFlags = 12;

  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = lane_.read<T>(at_);
    at_ += sizeof(T);
    return value;
  }

  std::string converted(char kind, bool wide, const std::string& flags) {
    switch (kind) {
      case '%':
        return "%";
      case 'd':
      case 'i':
        return wide ? printed(flags + "lld", next<long long>()) : printed(flags + "d", next<int>());
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return wide ? printed(flags + "ll" + kind, next<unsigned long long>())
                    : printed(flags + kind, next<unsigned>());
      case 'c':
        return printed(flags + "c", next<int>());
      case 'p':
        return printed(flags + "p", reinterpret_cast<void*>(next<std::uint64_t>()));
      case 's':
        return printed(flags + "s", lane_.text(next<std::uint64_t>()).c_str());
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        return printed(flags + kind, next<double>());
      default:
        return flags + kind;
    }
  }

  Lane& lane_;
  std::uint64_t& at_;
};

void trap(Warp& warp, const Instruction& i, Mask m) {
  warp.fail(i, static_cast<unsigned>(std::countr_zero(m)), CUDA_ERROR_LAUNCH_FAILED, "it trapped");
}

void decode_trap(Site& site) { site.out.run = trap; }

constexpr Opcode kOpcodes[] = {{"trap", decode_trap}, {"brkpt", decode_trap}};

}  // namespace

void run_print(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned number) {
    Lane lane(warp, i, number);
    const std::string format = lane.text(lane.local<std::uint64_t>(i.v[0]));
    auto at = lane.local<std::uint64_t>(i.v[1]);
    std::string out;
    Conversion conversion(lane, at);
    std::int32_t converted = 0;
    for (std::size_t k = 0; k < format.size() && !warp.block().grid().failed();) {
      if (format[k] != '%') {
        out += format[k++];
      } else {
        out += conversion.run(format, k);
        ++converted;
      }
    }
    warp.block().grid().print(out);
    if (i.option == 0) return;
    Instruction local = i;
    local.space = Space::kLocal;
    char* result =
        warp.at(local, number, warp.reg(i.e)[number] + i.immediate, sizeof converted, true);
    if (result) std::memcpy(result, &converted, sizeof converted);
  });
}

void run_assert_failed(Warp& warp, const Instruction& i, Mask m) {
  const auto number = static_cast<unsigned>(std::countr_zero(m));
  Lane lane(warp, i, number);
  const std::string what = lane.text(lane.local<std::uint64_t>(i.v[0]));
  const std::string file = lane.text(lane.local<std::uint64_t>(i.v[1]));
  const std::string line = std::to_string(lane.local<std::uint32_t>(i.v[2]));
  warp.fail(i, number, CUDA_ERROR_ASSERT, file + ":" + line + ": assertion `" + what + "` failed");
}

void run_malloc(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned number) {
    Lane lane(warp, i, number);
    const std::uint64_t made = Heap::get().allocate(lane.local<std::uint64_t>(i.v[0]));
    Instruction local = i;
    local.space = Space::kLocal;
    char* result = warp.at(local, number, warp.reg(i.e)[number] + i.immediate, sizeof made, true);
    if (result) std::memcpy(result, &made, sizeof made);
  });
}

void run_free(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned number) {
    Lane lane(warp, i, number);
    const auto address = lane.local<std::uint64_t>(i.v[0]);
    if (address != 0 && !warp.block().grid().failed() && !Heap::get().release(address))
      warp.fail(i, number, CUDA_ERROR_LAUNCH_FAILED,
                "free() of a pointer that malloc() did not return");
  });
}

std::span<const Opcode> other_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
