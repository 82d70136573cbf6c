// SPDX-License-Identifier: Apache-2.0
// The Python functions that a thread is in, read from the memory of the interpreter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/stack/python/guarded_memory.h"
#include "shim/stack/python/known_codes.h"
#include "shim/stack/python/layout.h"

namespace cuvmm::shim {

/// An interpreter in this process. The addresses of its type objects tell which kind of object a
/// pointer leads to.
struct PythonInterpreter {
  PythonLayout layout;
  void* (*thread_state)() = nullptr;  ///< of the calling thread, with the GIL or without; or null
  std::uintptr_t code_type = 0, string_type = 0, bytes_type = 0;
};

/// A place in one of the Python functions that a thread is in.
struct PythonPlace {
  std::uintptr_t code;       ///< the code object; another object may get its address later
  std::int32_t instruction;  ///< byte of its code
  bool entry;  ///< the outermost frame of an interpreter loop: its caller is no Python function
  std::uint64_t key;  ///< equal only for equal names, lines and instructions, up to collisions of
                      ///< 64 bits
};

/// At most so many functions of a stack are stored, the innermost ones.
inline constexpr std::size_t kMaxPythonFrames = 32;

struct PythonWalk {
  enum class End : std::uint8_t {
    kWhole,  ///< or the kMaxPythonFrames innermost frames
    kNone,   ///< the thread is in no Python function
    kOdd,    ///< memory differs from the layout: the walk's result must not be used
  };
  std::uint32_t count = 0;
  std::array<PythonPlace, kMaxPythonFrames> places;  ///< innermost first

  /// Reads the frames of the calling thread, whose state is at `thread_state`. The frames stay in
  /// place while the thread is in this call, whichever thread has the GIL. Calls no function of the
  /// interpreter, takes no lock, allocates nothing. `codes`: the code objects that were read
  /// through `memory` since it forgot; or null.
  End read(const PythonInterpreter& python, GuardedMemory& memory, KnownCodes* codes,
           std::uintptr_t thread_state) noexcept;
};

}  // namespace cuvmm::shim
