// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver/trial_checks.h"

#include <cuda.h>
#include <fmt/core.h>

#include <optional>
#include <string>

#include "tools/doctor/driver/causes.h"

namespace cuvmm::doctor {

namespace {

constexpr int kNoType = 0;

// The result of one child of a trial; `who` names the child in sentences.
struct Part {
  const char* who;
  const Ended& ended;
};

std::string on_device(int device, int count) {
  return count == 1 ? "" : fmt::format(" on device {}", device);
}

Check accident(const char* id, const Part& part, const char* source) {
  return with_action(
      does_not(id, fmt::format("{} {}", part.who, part.ended.accident()),
               "the kernel's log (`dmesg`) may say more; report it with `cuvmm doctor --json`",
               source),
      Action::kReset);
}

// The first trouble that the part met; nothing if it met none.
std::optional<Check> trouble(const char* id, int type, const Part& part, int count,
                             std::span<const Check> seen, const char* source) {
  const Facts& facts = part.ended.facts;
  if (facts.has("load_error")) {
    return does_not(id, std::string(part.who) + ": " + facts.text("load_error"), "see driver",
                    source);
  }
  const auto init = facts.number("init");
  if (init && *init != CUDA_SUCCESS) {
    return refused(id, "cuInit", static_cast<CUresult>(*init), type,
                   fmt::format(" in {}", part.who), seen);
  }
  for (int i = 0; i < count; ++i) {
    const auto code = facts.number(device_key(i));
    if (!code || *code == CUDA_SUCCESS) continue;
    return refused(id, facts.text(device_key(i) + ".call"), static_cast<CUresult>(*code), type,
                   on_device(i, count), seen);
  }
  if (!part.ended.accident().empty()) return accident(id, part, source);
  return std::nullopt;
}

// Whether every device has an answer.
bool complete(const Facts& facts, int count) {
  for (int i = 0; i < count; ++i) {
    if (!facts.number(device_key(i))) return false;
  }
  return true;
}

std::string devices_text(int count) {
  return count == 1 ? "the device" : fmt::format("each of {} devices", count);
}

Check judge_mapping(const DriverAnswers& answers, std::span<const Check> seen, int count) {
  constexpr const char* kSource = "CUDA driver API: virtual memory management; by trial";
  const Part part{"the trial", answers.mapping};
  if (auto check = trouble("vmm", kNoType, part, count, seen, kSource)) {
    if (answers.facts.facts.number("device.0.vmm") == 0) {
      check->detail += ". The device's attribute says that it has no virtual memory management";
    }
    return *check;
  }
  if (!complete(part.ended.facts, count)) return unknown("vmm", "not all was tried", "", kSource);
  return works("vmm", "memory was created, mapped and given access on " + devices_text(count),
               kSource);
}

Check judge_peers(const DriverAnswers& answers, std::span<const Check> seen, int count) {
  constexpr const char* kId = "peer";
  constexpr const char* kSource =
      "CUDA driver API: cuDeviceCanAccessPeer, cuMemSetAccess; by trial";
  if (count == 1) {
    return absent(kId, "there is one device", "make another device visible to this process",
                  kSource);
  }
  const Facts& facts = answers.mapping.facts;
  int tried = 0;
  std::string unreachable;
  for (int owner = 0; owner < count; ++owner) {
    for (int other = 0; other < count; ++other) {
      const std::string pair = fmt::format("peer.{}.{}", owner, other);
      if (facts.has(pair + ".unreachable") && unreachable.empty()) {
        unreachable = fmt::format("device {} cannot reach device {}", other, owner);
      }
      const auto code = facts.number(pair);
      if (!code) continue;
      if (*code != CUDA_SUCCESS) {
        return refused(kId, facts.text(pair + ".call"), static_cast<CUresult>(*code), kNoType,
                       fmt::format(" for memory of device {} and device {}", owner, other), seen);
      }
      ++tried;
    }
  }
  if (!unreachable.empty()) {
    return absent(kId, unreachable + ", says cuDeviceCanAccessPeer",
                  "devices behind one NVLink or PCIe root; not in MIG mode; on a host with "
                  "an IOMMU, ACS off (`nvidia-smi topo -p2p r` shows the pairs)",
                  kSource);
  }
  if (tried < count * (count - 1)) return unknown(kId, "not all pairs were tried", "", kSource);
  return works(kId, fmt::format("all {} pairs of {} devices", tried, count), kSource);
}

Check judge_sharing(const char* id, int type, const Ended& exporter, const Ended& importer,
                    std::span<const Check> seen, int count) {
  constexpr const char* kSource =
      "CUDA driver API: cuMemExportToShareableHandle, cuMemImportFromShareableHandle; by trial";
  const Part from{"the exporter", exporter}, to{"the importer", importer};
  if (auto check = trouble(id, type, to, count, seen, kSource);
      check && importer.accident().empty()) {
    return *check;
  }
  if (auto check = trouble(id, type, from, count, seen, kSource)) return *check;
  if (!importer.accident().empty()) return accident(id, to, kSource);
  if (!complete(exporter.facts, count) || !complete(importer.facts, count)) {
    return unknown(id, "not all was tried", "", kSource);
  }
  return works(
      id,
      fmt::format("memory of {} was exported, and mapped by another process", devices_text(count)),
      kSource);
}

Check judge_dma_buf(const DriverAnswers& answers, std::span<const Check> seen, int count) {
  constexpr const char* kSource =
      "CUDA driver API: cuMemGetHandleForAddressRange, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED; by "
      "trial";
  const Part part{"the trial", answers.dma_buf};
  if (answers.facts.facts.number("device.0.dma-buf") == 0) {
    return absent("dma-buf", "the device's attribute says that it cannot",
                  "Linux 5.12 or newer and NVIDIA's open kernel modules", kSource);
  }
  if (auto check = trouble("dma-buf", kNoType, part, count, seen, kSource)) return *check;
  if (!complete(part.ended.facts, count)) {
    return unknown("dma-buf", "not all was tried", "", kSource);
  }
  return works("dma-buf", "memory of " + devices_text(count) + " was exported", kSource);
}

}  // namespace

std::vector<Check> judge_trials(const DriverAnswers& answers, std::span<const Check> seen,
                                int count) {
  return {
      judge_mapping(answers, seen, count), judge_peers(answers, seen, count),
      judge_sharing("fd", kDescriptor, answers.fd_export, answers.fd_import, seen, count),
      judge_sharing("fabric", kFabric, answers.fabric_export, answers.fabric_import, seen, count),
      judge_dma_buf(answers, seen, count)};
}

}  // namespace cuvmm::doctor
