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

/// Carries an instruction out for the lanes of a mask, which has one lane at least.
using Run = void (*)(Warp&, const Instruction&, Mask);

/// Effects that only the warp itself can have; all other effects have a Run.
enum class Flow : std::uint8_t {
  kNone,
  kBranch,         ///< to `target`
  kTable,          ///< to the entry of table `target` that register `a` selects
  kExit,           ///< the lanes end
  kBarrier,        ///< waits at a barrier of the block; then `run`, unless it is null
  kArrive,         ///< as kBarrier, without waiting
  kClusterArrive,  ///< arrives at the barrier of the cluster
  kClusterWait,    ///< waits for the phase of that barrier in which the lane arrived
  kConverge,       ///< the lanes in the mask of register `e` come together, then `run`
  kCall,           ///< by entry `target` of Code::calls
  kReturn,         ///< to the instruction behind the call
};

/// What an instruction does to memory, for a Watcher (kernels/run/grid.h): a set of bits.
enum MemoryEffect : std::uint8_t {
  kLoads = 1,
  kStores = 2,
  kStrong = 4,        ///< other threads' strong accesses do not race with it
  kVolatile = 8,      ///< nobody can say whether the program relies on it
  kOrders = 16,       ///< what came before it is done for threads that see what comes after it
  kOrdersBlock = 32,  ///< the same, for the threads of a block alone
};

inline constexpr std::uint8_t kAligned = 1;  ///< in the flags of a barrier

/// Operands are slots of registers. Constants and special registers have slots as well.
struct Instruction {
  Run run = nullptr;
  Flow flow = Flow::kNone;
  Space space = Space::kNone;
  Type type = Type::kNone;  ///< for instructions whose `run` reads it
  std::uint8_t option = 0;  ///< a parameter of `run`
  std::uint8_t flags = 0;   ///< of FloatFlag
  std::uint8_t count = 1;   ///< registers in `v`
  std::uint8_t effect = 0;  ///< of MemoryEffect, on `width` bytes at address `a` + `immediate`
  std::uint8_t width = 0;
  Mask invert = 0;          ///< kAll for @!p
  std::uint32_t guard = 0;  ///< a predicate; 0 is always true
  std::uint32_t v[4] = {};  ///< the registers that are written, and those that a store reads
  std::uint32_t a = 0, b = 0, c = 0, e = 0;
  std::uint32_t p = 0;   ///< a predicate that is written
  std::uint32_t q = 0;   ///< a second predicate that is written
  std::uint32_t r = 0;   ///< a predicate that is read
  Mask invert_read = 0;  ///< kAll for !r
  std::uint32_t target = 0;
  std::uint64_t immediate = 0;
  std::uint32_t straight = 0;  ///< instructions with no Flow from here on, this one included
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
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
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
  kClusterRank,
  kClusterBlocks,
  kHasClusters,  ///< 1 where the launch or the kernel names the size of a cluster
  kWarpSize,
  kWorkspaceLow,  ///< the address of the launch's workspace; 0 if it is not cooperative
  kWorkspaceHigh,
};

/// A parameter's place in the bytes that a launch passes.
struct Slot {
  std::uint64_t offset = 0, size = 0;  ///< bytes
};

/// A function that is not copied into its callers: it calls itself, or is called by its address.
/// Its variables lie in a frame of the caller's thread, and a call keeps its registers.
struct Subroutine {
  std::string name;
  std::uint64_t address = 0;  ///< the value of a pointer to it
  std::uint32_t entry = 0;
  std::uint32_t first_register = 0, last_register = 0;  ///< up to, not including, the last
  std::uint32_t first_predicate = 0, last_predicate = 0;
  std::uint32_t frame = 0;  ///< the register that holds the address of its frame
  std::uint64_t frame_bytes = 0;
  std::vector<Slot> parameters, returned;  ///< in the frame
};

struct Call {
  static constexpr std::uint32_t kByAddress = ~0U;
  std::uint32_t subroutine = kByAddress;  ///< else register `a` of the instruction holds an address
  std::uint32_t frame = 0;                ///< the register with the address of the caller's frame
  std::vector<Slot> given, returned;      ///< in the caller's frame
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
  std::vector<std::vector<std::uint32_t>> lists;  ///< registers of instructions that have many
  std::vector<Subroutine> subroutines;
  std::vector<Call> calls;
  std::vector<Constant> constants;
  std::vector<SpecialSlot> specials;
  std::uint32_t registers = 0, predicates = 1;
  std::vector<Slot> parameters;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< static, in bytes; the dynamic memory lies after it
  std::uint64_t local_bytes = 0;   ///< of each thread, in bytes
  unsigned most_threads[3] = {}, exact_threads[3] = {};
  unsigned cluster[3] = {};  ///< the blocks of a cluster that the kernel asks for; 0: any
};

/// The address of a variable of the module in the memory of a device; nothing for an unknown name.
using Addresses = std::function<std::optional<std::uint64_t>(std::string_view)>;

struct Decoded {
  std::shared_ptr<const Code> code;  ///< null: the kernel cannot run here
  std::string why_not;               ///< names the instruction and its line
};

/// The generic addresses of shared memory, local memory, parameters, the workspace of a cooperative
/// launch and the kernels' heap: no memory of a device or of the host can lie there.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0x2000} << 48;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0x3000} << 48;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{0x4000} << 48;
inline constexpr std::uint64_t kWorkspaceWindow = std::uint64_t{0x5000} << 48;
inline constexpr std::uint64_t kHeapWindow = std::uint64_t{0x6000} << 48;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xffff} << 48;
/// The space of a generic address; workspace and heap count as global memory.
inline Space space_at(std::uint64_t address) {
  const std::uint64_t window = address & kWindowMask;
  return window == kSharedWindow  ? Space::kShared
         : window == kLocalWindow ? Space::kLocal
         : window == kParamWindow ? Space::kParam
                                  : Space::kGlobal;
}

}  // namespace cuvmm::kernels
