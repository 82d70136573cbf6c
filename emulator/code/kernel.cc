// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "emulator/base/run_file.h"
#include "emulator/base/say.h"
#include "emulator/code/device_memory.h"
#include "emulator/code/function.h"
#include "emulator/code/launch.h"
#include "emulator/code/occupancy.h"
#include "emulator/core/kernel_reports.h"
#include "emulator/machine/device_attributes.h"

/// The address at which a kernel last failed; 0 where none failed. The shim calls it.
extern "C" __attribute__((visibility("default"))) std::uint64_t cuvmmEmulatorFaultAddress();

namespace cuvmm::emulator {

namespace {

std::string triple(const unsigned (&of)[3]) {
  return "(" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) +
         ")";
}

// Decodes the whole kernel at the first call for it.
CUresult find_code(Function& function, std::shared_ptr<const kernels::Code>& code) {
  if (!function.decoded) {
    const Module& module = *function.module;
    const kernels::Addresses addresses =
        [&](std::string_view name) -> std::optional<std::uint64_t> {
      const auto found = module.variables.find(name);
      if (found == module.variables.end()) return std::nullopt;
      return found->second;
    };
    kernels::Decoded decoded = kernels::decode(module.image->code, function.name, addresses);
    function.decoded = std::move(decoded.code);
    if (!function.decoded && !function.refused) {
      function.refused = true;
      complain("kernel `" + function.name + "` cannot be run: PTX " + decoded.why_not +
               ". Its launches answer CUDA_ERROR_NOT_SUPPORTED; with CUVMM_KERNELS=skip, all "
               "launches are skipped");
    }
  }
  code = function.decoded;
  return code ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

// `extra`: pairs of a word that names a kind of value, and that value; CU_LAUNCH_PARAM_END ends
// them.
CUresult copy_packed(void** extra, std::vector<char>& out) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  constexpr int kMost = 8;
  for (int i = 0; i < kMost && extra[0] != CU_LAUNCH_PARAM_END; ++i, extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = static_cast<const std::size_t*>(extra[1]);
  }
  if (out.empty()) return CUDA_SUCCESS;
  if (!buffer || !size) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out.data(), buffer, std::min(*size, out.size()));  // zeros follow (an H100)
  return CUDA_SUCCESS;
}

CUresult copy_parameters(const kernels::Code& code, const Launch& launch, std::vector<char>& out) {
  if (launch.parameters && launch.extra && !out.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (launch.extra) return copy_packed(launch.extra, out);
  if (out.empty()) return CUDA_SUCCESS;
  if (!launch.parameters) return CUDA_ERROR_INVALID_VALUE;
  void** next = launch.parameters;
  for (const kernels::Slot& each : code.parameters) {
    if (!*next) return CUDA_ERROR_INVALID_VALUE;
    if (each.size != 0) std::memcpy(&out[each.offset], *next, each.size);
    ++next;
  }
  return CUDA_SUCCESS;
}

// Whether the kernel's own limits allow a launch of this shape.
bool possible(const Function& function, const kernels::Code& code, const kernels::Shape& shape) {
  const int most = *default_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int dynamic = std::max(dynamic_shared_limit(function.code, function.settings), 0);
  if (shape.dynamic_shared > static_cast<unsigned>(dynamic) ||
      code.shared_bytes + shape.dynamic_shared > static_cast<unsigned>(most))
    return false;
  const unsigned* const threads = code.most_threads;
  if (threads[0] != 0 && shape.threads() > threads[0] * threads[1] * threads[2]) return false;
  return code.exact_threads[0] == 0 || std::equal(shape.block, shape.block + 3, code.exact_threads);
}

// Whether the multiprocessors hold all blocks of a launch at a time.
bool fit_together(const Function& function, const kernels::Shape& shape) {
  const auto threads = static_cast<int>(shape.threads());
  const int each = active_blocks(function.code, function.settings, threads, shape.dynamic_shared);
  const int processors = default_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).value_or(0);
  return shape.blocks() <=
         static_cast<std::uint64_t>(each) * static_cast<std::uint64_t>(processors);
}

// Puts the size of the launch's clusters into its shape: the kernel's own, which the launch may
// only repeat, else the launch's, else the one that was set for the kernel.
CUresult set_cluster(const Function& function, const kernels::Code& code, const Launch& launch,
                     kernels::Shape& shape) {
  std::array<unsigned, 3> cluster = launch.cluster.value_or(std::array<unsigned, 3>{});
  bool given = launch.cluster.has_value();
  if (code.cluster[0] != 0) {
    if (given && !std::ranges::equal(cluster, code.cluster)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    std::ranges::copy(code.cluster, cluster.begin());
    given = true;
  }
  if (!given) {
    for (std::size_t axis = 0; axis < cluster.size(); ++axis) {
      const std::size_t which = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + axis;
      cluster[axis] = static_cast<unsigned>(function.settings[which].value_or(0));
      given |= cluster[axis] != 0;
    }
  }
  if (!given) return CUDA_SUCCESS;
  std::uint64_t blocks = 1;
  for (std::size_t axis = 0; axis < cluster.size(); ++axis) {
    if (cluster[axis] == 0 || shape.grid[axis] % cluster[axis] != 0)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    blocks *= cluster[axis];
  }
  if (blocks > cluster_limit(function.settings)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  std::ranges::copy(cluster, shape.cluster);
  shape.has_clusters = true;
  return CUDA_SUCCESS;
}

std::atomic<std::uint64_t> g_kernel_fault{0};

// Tells the run of each kernel that was checked, once in a process.
void count_checked(const std::string& kernel) {
  static auto* const told = new std::set<std::string>;  // read and written under the lock
  if (told->insert(kernel).second) tell_run((kCheckedLine + kernel).c_str());
}

void tell(const kernels::Code& code, const kernels::Fault& fault) {
  static auto* const printed =
      new std::set<std::string>;  // names of the kernels already reported on
                                  // stderr; read and written under the lock
  if (!printed->insert(code.name).second) return;
  complain("kernel `" + code.name + "`, block " + triple(fault.block) + ", thread " +
           triple(fault.thread) + ", PTX line " + std::to_string(fault.line) + ": " + fault.what +
           " (its later faults are not printed)");
}

/// What a launch needs when its turn has come.
struct Ready {
  std::shared_ptr<const kernels::Code> code;
  std::shared_ptr<Image> image;
  kernels::Shape shape;
  std::vector<char> parameters;
  std::uint64_t number;  ///< of the launch (begin_launch())
};

void report(const Ready& ready, int device, const kernels::Fault& fault) {
  const auto where = [&](int line) {
    const kernels::SourceLine source = kernels::source_of(ready.image->code, line);
    return source.line == 0 ? "PTX line " + std::to_string(line)
                            : source.file + ":" + std::to_string(source.line);
  };
  std::string text = "kernel `" + ready.code->name + "`, " + where(fault.line) + ", thread " +
                     triple(fault.thread) + " of block " + triple(fault.block) + ": " + fault.what;
  if (fault.other_line != 0) text += ". The other access is at " + where(fault.other_line);
  KernelReport out{.kind = static_cast<KernelReport::Kind>(fault.wrong),
                   .device = device,
                   .launch = ready.number,
                   .address = fault.address};
  out.place = std::hash<std::string>{}(ready.code->name) +
              static_cast<std::uint64_t>(fault.line) * 0x9e3779b97f4a7c15U +
              static_cast<std::uint64_t>(fault.other_line) * 0xc2b2ae3d27d4eb4fU;
  text.copy(out.text, sizeof out.text - 1);
  keep_report(out);
}

// The kind of a fault that ended the kernel; kNone: cuvmm has no rule for it.
kernels::Wrong kind_of(const DeviceMemory& memory, const kernels::Fault& fault) {
  using kernels::Wrong;
  if (fault.code == CUDA_ERROR_MISALIGNED_ADDRESS) return Wrong::kMisaligned;
  const bool closed = fault.wrong == Wrong::kOutside && memory.holds(fault.address);
  return closed ? Wrong::kNoAccess : fault.wrong;
}

CUresult run(Emulator& e, const Context& context, const Ready& ready) {
  if (!context.alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  const kernels::Code& code = *ready.code;
  const KernelChecks& checks = e.kernel_checks();
  DeviceMemory memory(e, context);
  std::vector<kernels::Fault> found;
  kernels::Fault fault =
      kernels::run(code, ready.shape, ready.parameters, memory, e.kernel_steps(),
                   {.init = checks.init, .race = checks.race, .sync = checks.sync}, found);
  if (fault) tell(code, fault);
  if (checks.any()) {
    count_checked(code.name);
    for (const kernels::Fault& each : found) report(ready, context.device, each);
    fault.wrong = kind_of(memory, fault);
    const bool asked = fault.wrong == kernels::Wrong::kStuck ? checks.sync : checks.memory;
    if (fault && asked && fault.wrong != kernels::Wrong::kNone)
      report(ready, context.device, fault);
  }
  if (fault.address != 0) g_kernel_fault.store(fault.address, std::memory_order_relaxed);
  return fault.code;
}

}  // namespace

bool possible(const kernels::Shape& shape) {
  constexpr unsigned kGridX = 0x7fffffff, kGrid = 65535, kBlock = 1024, kBlockZ = 64;
  for (int axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.block[axis] == 0 || shape.block[axis] > kBlock ||
        shape.grid[axis] > (axis == 0 ? kGridX : kGrid)) {
      return false;
    }
  }
  return shape.block[2] <= kBlockZ && shape.threads() <= kBlock;
}

CUresult prepare(Emulator& e, Context& context, Function& function, const Launch& launch,
                 Work& work) {
  if (!e.runs_kernels() || !kernels::has_text(function.module->image->code, function.name)) {
    work = [entry = launch.entry](Emulator&) {
      skip_launch(entry);
      return CUDA_SUCCESS;
    };
    return CUDA_SUCCESS;
  }
  std::shared_ptr<const kernels::Code> code;
  const CUresult known = find_code(function, code);
  if (known != CUDA_SUCCESS) return known;
  if (!possible(function, *code, launch.shape)) return CUDA_ERROR_INVALID_VALUE;
  if (launch.shape.together && !fit_together(function, launch.shape))
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  std::vector<char> parameters(code->parameter_bytes);
  const CUresult copied = copy_parameters(*code, launch, parameters);
  if (copied != CUDA_SUCCESS) return copied;
  kernels::Shape shape = launch.shape;
  const CUresult cluster = set_cluster(function, *code, launch, shape);
  if (cluster != CUDA_SUCCESS) return cluster;
  work = [&context, ready = Ready{code, function.module->image, shape, std::move(parameters),
                                  e.kernel_checks().any() ? begin_launch() : 0}](Emulator& at) {
    return run(at, context, ready);
  };
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator

std::uint64_t cuvmmEmulatorFaultAddress() {
  return cuvmm::emulator::g_kernel_fault.load(std::memory_order_relaxed);
}
