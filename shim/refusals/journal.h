// SPDX-License-Identifier: Apache-2.0
// Refused calls of functions that cuvmm does not check: from the driver's log, and from the shim's
// own functions in front of the driver's. A program may remember such an error and report it at
// another place.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/owned_mutex.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct UncheckedRefusal {
  std::string function;
  CUresult result = CUDA_SUCCESS;
  std::string sentence;   ///< the driver's own; "" if it only repeats function and result
  std::string known;      ///< the facts of the first such call, a line each
  StackId stack = 0;      ///< the stack of the first such call
  bool in_driver = true;  ///< the stack begins inside of the driver, not in the program
  std::uint64_t count = 0;
};

/// Whether such an answer is an ordinary result of the function: "not yet", "that is no address of
/// the driver". Programs ask such questions all the time.
bool is_only_an_answer(std::string_view function, CUresult result);

/// Whether both name one function: the driver's log has the names of symbols, such as
/// cuMemAlloc_v2 and cuMemsetD8Async_ptsz.
bool is_same_function(std::string_view a, std::string_view b);

/// Folds refused calls by function, result and known facts. Thread-safe, and allocates nothing
/// while it listens, because the driver calls it from inside of any function.
class Journal {
 public:
  /// CUlogsCallback; `journal` is the data that it was registered with.
  static void hear(void* journal, int level, char* message, std::size_t length) noexcept;
  /// Notes a call that came back to the shim. If the driver wrote to its log about the call
  /// already, add() only gives it the facts, and the stack of the program instead of the driver's.
  void add(std::string_view function, CUresult result, std::string_view known, std::uint64_t thread,
           const Caller& caller) noexcept;
  /// The refusals since the last take(). Throws std::bad_alloc.
  std::vector<UncheckedRefusal> take();
  /// Called only in a child of fork, which has one thread.
  void clear() CUVMM_UNCHECKED;

  /// A sentence of the driver's log about a call of this thread.
  void note(std::string_view sentence, std::uint64_t thread, const Caller& caller) noexcept;

 private:
  template <std::size_t size>
  struct Text {
    char bytes[size];
    std::size_t length;
    std::string_view view() const { return {bytes, length}; }
    void set(std::string_view text);
  };
  struct Entry {
    Text<64> function;
    CUresult result;
    Text<256> sentence;
    Text<768> known;
    StackId stack;
    bool in_driver;
    std::uint64_t count;  ///< 0: free
  };
  // A driver's sentence before the sentence that names the call.
  struct Begun {
    std::uint64_t thread;
    Text<256> sentence;
  };
  // The last call of a thread for which the driver wrote to its log, and add() has not come yet.
  struct LoggedCall {
    std::uint64_t thread;
    std::size_t entry;
  };

  /// The entry of such calls, with one more call; null if the journal is full.
  Entry* count_in(std::string_view function, CUresult result, std::string_view known)
      CUVMM_NEEDS(mutex_);

  OwnedMutex mutex_;
  static constexpr std::size_t kMost = 64;  // distinct refusals

  std::array<Entry, kMost> entries_ CUVMM_GUARDED_BY(mutex_){};
  std::array<Begun, 8> begun_ CUVMM_GUARDED_BY(mutex_){};
  std::size_t oldest_ CUVMM_GUARDED_BY(mutex_) = 0;
  std::array<LoggedCall, 8> logged_ CUVMM_GUARDED_BY(mutex_){};
  std::size_t oldest_logged_ CUVMM_GUARDED_BY(mutex_) = 0;
};

}  // namespace cuvmm::shim
