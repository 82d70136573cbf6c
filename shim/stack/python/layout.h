// SPDX-License-Identifier: Apache-2.0
// The places in CPython's memory of the data that a traceback shows: 3.9 to 3.14, 64 bits, with the
// GIL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cuvmm::shim {

/// The table by which a code object maps instructions to lines.
enum class PythonLines : std::uint8_t {
  kIncrements,  ///< 3.9: co_lnotab
  kRanges,      ///< 3.10: co_linetable (PEP 626)
  kLocations,   ///< 3.11 and later: co_linetable (PEP 657)
};

/// Offsets in bytes. kNowhere: this version has no such member.
struct PythonLayout {
  static constexpr std::uint16_t kNowhere = 0xffff;

  struct {
    std::uint16_t thread_id;  ///< pthread_self() of the state's thread
    std::uint16_t frame;      ///< the innermost frame; of a version with `cframe`, that struct
    std::uint16_t cframe_frame = kNowhere;  ///< the innermost frame in there
  } thread;
  struct {
    std::uint16_t code;                 ///< the code object; its lowest bits may be tags
    std::uint16_t previous;             ///< the frame of the caller
    std::uint16_t instruction;          ///< a number (int) before 3.11, a pointer since then
    std::uint16_t owner = kNowhere;     ///< a byte; a frame with kFirstShim and above belongs to no
                                        ///< Python function
    std::uint16_t is_entry = kNowhere;  ///< a byte: the outermost frame of one interpreter loop
  } frame;
  struct {
    std::uint16_t filename, name, first_line, lines;
    std::uint16_t bytecode = kNowhere;  ///< where instructions begin; before 3.11 they are in
                                        ///< another object
    std::uint16_t version = kNowhere;   ///< a number (int) that no other code object has had; 0:
                                        ///< none
    bool version_of_process = false;    ///< the number is unique in all interpreters of the
                                        ///< process, not only in its own
  } code;
  std::uint16_t ascii_size;           ///< the size of the header of an ASCII string
  std::uint8_t instruction_unit = 1;  ///< the bytes in one unit of an instruction's number
  PythonLines lines = PythonLines::kLocations;

  static constexpr std::uint8_t kFirstShim = 3;
  static constexpr std::uint16_t kObjectType = 8, kObjectSize = 16, kBytesData = 32,
                                 kStringLength = 16, kStringHash = 24, kStringState = 32;
};

/// From 3.13 on, an interpreter has its offsets in a table at the start of `_PyRuntime`. cuvmm
/// reads so many words of it.
inline constexpr std::size_t kDebugOffsetWords = 82;

/// The layout of a version (PY_VERSION_HEX). `debug_offsets`: the first kDebugOffsetWords words of
/// `_PyRuntime`, read only for 3.13 and later. nullopt if the version is not known, or if the table
/// is not that version's: its cookie, its version and sizes that never change are compared.
std::optional<PythonLayout> python_layout(std::uint32_t version,
                                          std::span<const std::uint64_t> debug_offsets);

}  // namespace cuvmm::shim
