// SPDX-License-Identifier: Apache-2.0
// A kernel that is ready to run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/type.h"

namespace cuvmm::kernels {

class Warp;
struct Instruction;
using Mask = std::uint32_t;  ///< a bit for each lane of a warp
inline constexpr unsigned kLanes = 32;
inline constexpr Mask kAll = ~Mask{0};

/// Carries an instruction out for the lanes of a mask, of which there is one at least.
using Run = void (*)(Warp&, const Instruction&, Mask);

/// What only the warp itself can do; all else has a Run.
enum class Flow : std::uint8_t {
  kNone,
  kBranch,    ///< to `target`
  kTable,     ///< to the entry of table `target` that `a` says
  kExit,      ///< the lanes end
  kBarrier,   ///< of the block; then `run`, if there is one
  kArrive,    ///< as kBarrier, without waiting
  kConverge,  ///< the lanes that mask `e` names come together, then `run`
};

/// Operands are slots of registers. Constants and special registers have slots as well.
struct Instruction {
  Run run = nullptr;
  Flow flow = Flow::kNone;
  Space space = Space::kNone;
  Type type = Type::kNone;  ///< where `run` looks at it
  std::uint8_t option = 0;  ///< what `run` takes for it
  std::uint8_t flags = 0;   ///< of FloatFlag
  std::uint8_t count = 1;   ///< registers in `v`
  Mask invert = 0;          ///< kAll for @!p
  std::uint32_t guard = 0;  ///< a predicate; 0 is always true
  std::uint32_t v[4] = {};  ///< what is written, and what a store reads
  std::uint32_t a = 0, b = 0, c = 0, e = 0;
  std::uint32_t p = 0;   ///< a predicate that is written
  std::uint32_t q = 0;   ///< one more
  std::uint32_t r = 0;   ///< one that is read
  Mask invert_read = 0;  ///< kAll for !r
  std::uint32_t target = 0;
  std::uint64_t immediate = 0;
  int line = 0;
};

enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kDynamicShared,
  kTotalShared,
  kZero,
  kOne,
  kWarpSize,
};

/// Of a parameter in what a launch passes.
struct Slot {
  std::uint64_t offset = 0, size = 0;  ///< bytes
};

struct Code {
  struct Constant {
    std::uint32_t slot;
    std::uint64_t value;
  };
  struct SpecialSlot {
    std::uint32_t slot;
    Special which;
  };

  std::string name;
  std::vector<Instruction> instructions;
  std::vector<std::string> opcodes;  ///< of each instruction, for messages
  std::vector<std::vector<std::uint32_t>> tables;
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
  std::uint32_t registers = 0, predicates = 1;
  std::vector<Slot> parameters;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< static; the dynamic part lies behind
  std::uint64_t local_bytes = 0;   ///< of each thread
  unsigned most_threads[3] = {}, exact_threads[3] = {};
};

/// Where a variable of the module lies in the memory of a device; nothing for what is not there.
using Addresses = std::function<std::optional<std::uint64_t>(std::string_view)>;

struct Decoded {
  std::shared_ptr<const Code> code;  ///< null: it cannot run here
  std::string why_not;               ///< names the instruction and its line
};

/// Where shared memory, local memory and parameters lie among generic addresses: where no memory of
/// a device or of the host can be.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0x2000} << 48;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0x3000} << 48;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{0x4000} << 48;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xffff} << 48;

}  // namespace cuvmm::kernels
