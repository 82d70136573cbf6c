// SPDX-License-Identifier: Apache-2.0
// Troubles of a fabric that CUVMM_OUTAGE asks for. The answers are those that users of such
// machines met; none was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuvmm::emulator {

enum class Outage : std::uint8_t {
  kNone,
  /// Each host is in an IMEX domain of its own: an import from another host is INVALID_HANDLE
  /// (kubernetes-sigs/dra-driver-nvidia-gpu#1417).
  kDomains,
  /// The IMEX daemon does not run: each import of a fabric handle is INVALID_HANDLE
  /// (meta-pytorch/torchcomms#3516).
  kImexDaemon,
  /// The fabric manager does not run: cuInit answers SYSTEM_NOT_READY (pytorch/pytorch#177472).
  kFabricManager,
  /// The fabric manager started again under work: ILLEGAL_STATE for devices and memory of multicast
  /// objects (NVIDIA/nccl#1788).
  kFabricLost,
  /// The fabric has no multicast group left: a bind is OUT_OF_MEMORY (cuda.h, cuMulticastBindMem).
  kGroups,
  /// Fabric handles are NOT_SUPPORTED, as is the devices' attribute (pytorch/pytorch#156074).
  kNoFabric,
  /// Multicast objects have a granularity of 512 MiB (ai-dynamo/snapshot#133, a driver of r615).
  kLargeGranularity,
  /// The process that binds memory of the rack's last device is killed instead.
  kRankKilled,
};

/// The names for CUVMM_OUTAGE, separated by commas.
inline constexpr char kOutageNames[] =
    "domains, imex-daemon, fabric-manager, fabric-lost, multicast-groups, no-fabric, "
    "large-granularity, rank-killed";
/// Nothing where `name` is none of them.
std::optional<Outage> outage_named(std::string_view name);

}  // namespace cuvmm::emulator
