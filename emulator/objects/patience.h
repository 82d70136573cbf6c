// SPDX-License-Identifier: Apache-2.0
// Whether a function of the program waits for the program, or only takes its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>

namespace cuvmm::emulator {

/// How long a stream waits for a function before the function counts as one that waits for the
/// program. A function shows that by outlasting kPatience once; its later calls get
/// kLittlePatience. Other functions keep the whole patience, so that the order of their work does
/// not depend on the function.
class Patience {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000}, kLittlePatience{4};

  std::chrono::milliseconds with(const void* function) const {
    return outlasted_.contains(function) ? kLittlePatience : kPatience;
  }
  void note_outlasted(const void* function) { outlasted_.insert(function); }

 private:
  std::set<const void*> outlasted_;
};

/// The time that a thread has spent in a function. A busy machine adds nothing to it: a thread that
/// computes spends its time on processors, not the time that it waits for one. A thread that
/// sleeps, or that gives its processor up again and again (sched_yield), spends all of the time.
class SpentTime {
 public:
  /// The thread at one moment.
  struct Look {
    std::chrono::nanoseconds now{};        ///< of a clock that goes on evenly
    std::chrono::nanoseconds processor{};  ///< the thread's time on processors so far
    bool asleep = false;
    std::uint64_t switches = 0;  ///< how often the thread has left a processor
  };

  /// Adds a look. Returns the time between the first look and this look.
  std::chrono::nanoseconds add(const Look& look) {
    if (began_) {
      const bool slept = last_.asleep && look.asleep;
      const auto used = look.processor - last_.processor;
      const auto left = look.switches - last_.switches;
      const bool yields = left != 0 && used / left < kLeastSlice;
      spent_ += slept || yields ? look.now - last_.now : used;
    }
    last_ = look;
    began_ = true;
    return spent_;
  }

 private:
  /// The kernel does not take a processor away so soon.
  static constexpr std::chrono::microseconds kLeastSlice{100};

  bool began_ = false;  ///< `last_` is a look
  Look last_;
  std::chrono::nanoseconds spent_{};
};

}  // namespace cuvmm::emulator
