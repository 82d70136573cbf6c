// SPDX-License-Identifier: Apache-2.0
// Judges NVML's answers.
#include <fmt/core.h>

#include <set>

#include "tools/doctor/nvml/nvml_facts.h"

namespace cuvmm::doctor {

namespace {

constexpr int kNotSupported = 3;  // NVML_ERROR_NOT_SUPPORTED
constexpr const char* kFabricSource =
    "NVML: nvmlDeviceGetGpuFabricInfoV; field: pytorch/pytorch#177472, NVIDIA/nccl#1672";
constexpr const char* kFabricManager =
    "on the host: `systemctl status nvidia-fabricmanager` and its log; a restart of it needs "
    "GPUs without work";

std::string nvml_error(long long code) {
  switch (code) {
    case 4:
      return "no permission (4)";
    case 9:
      return "the kernel module is not loaded (9)";
    case 15:
      return "the GPU is lost (15)";
    case 18:
      return "library and kernel module are of different versions (18)";
    case 999:
      return "unknown error (999)";
    default:
      return fmt::format("error {}", code);
  }
}

Check judge_start(const Ended& answers) {
  constexpr const char* kId = "nvml";
  constexpr const char* kSource = "NVML: nvmlInit_v2";
  const Facts& facts = answers.facts;
  if (facts.has("load_error")) {
    return does_not(kId, facts.text("load_error"),
                    "the driver's libnvidia-ml.so.1; a container needs \"utility\" in "
                    "NVIDIA_DRIVER_CAPABILITIES",
                    "dlopen(3); NVIDIA Container Toolkit: driver capabilities");
  }
  const auto init = facts.number("init");
  const std::string accident = answers.accident();
  if (!init || !accident.empty()) {
    return does_not(kId, "asking it " + (accident.empty() ? "gave no answer" : accident),
                    "the kernel's log (`dmesg`) may say more", kSource);
  }
  if (*init != 0) {
    constexpr int kMismatch = 18;
    return does_not(kId, "nvmlInit_v2 answered " + nvml_error(*init),
                    *init == kMismatch
                        ? "reboot after a driver update; a container must use the host's library"
                        : "see kernel-module and device-nodes",
                    kSource);
  }
  return works(kId, fmt::format("driver {}, {} GPUs", facts.text("version"), nvml_devices(answers)),
               kSource);
}

// `mask` has the fields of NVML_GPU_FABRIC_HEALTH_MASK_*: fields of two bits, where 1 means that
// the trouble is there, and a field of four bits, which is a number.
std::string health_trouble(long long mask) {
  constexpr struct {
    int shift;
    const char* what;
  } kFields[] = {{0, "bandwidth is degraded"},
                 {2, "routes are being recovered"},
                 {4, "routes are unhealthy"},
                 {6, "an access timeout is being recovered"}};
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const auto& field : kFields) {
    if ((mask >> field.shift & 3) == 1) add(field.what);
  }
  constexpr int kConfiguration = 8;
  switch (mask >> kConfiguration & 15) {
    case 0:  // not supported
    case 1:  // none
      break;
    case 2:
      add("the system GUID is wrong");
      break;
    case 3:
      add("the chassis serial number is wrong");
      break;
    case 4:
      add("the GPU is in no partition");
      break;
    case 5:
      add("NVLinks are missing");
      break;
    default:
      add(fmt::format("the configuration is wrong ({})", mask >> kConfiguration & 15));
  }
  return text;
}

// The trouble of the device's fabric; nothing if the fabric is set up.
std::optional<Check> fabric_trouble(const Facts& facts, int device) {
  constexpr const char* kId = "nvlink-fabric";
  constexpr int kUnsupported = 0, kNotStarted = 1, kInProgress = 2, kCompleted = 3;
  const std::string fabric = device_key(device) + ".fabric";
  if (facts.text(fabric) == "missing") {
    return unknown(kId, "this NVML has no nvmlDeviceGetGpuFabricInfo", "a newer driver",
                   kFabricSource);
  }
  const auto code = facts.number(fabric);
  const auto state = facts.number(fabric + ".state");
  const std::string where = fmt::format("device {}: ", device);
  if (code == kNotSupported || state == kUnsupported) {
    return absent(kId, where + "there is no NVLink fabric",
                  "a machine with NVSwitch (HGX, DGX, GB200); inside one machine, fd and peer "
                  "do without",
                  kFabricSource);
  }
  if (code != 0 || !state) {
    return unknown(kId, where + (code ? nvml_error(*code) : "NVML did not answer"), "",
                   kFabricSource);
  }
  if (state == kNotStarted || state == kInProgress) {
    return does_not(
        kId,
        where + (state == kNotStarted ? "the set-up has not begun" : "the set-up is not finished"),
        kFabricManager, kFabricSource);
  }
  if (state != kCompleted) {
    return unknown(kId, fmt::format("{}state {} is not known here", where, *state), "",
                   kFabricSource);
  }
  if (const auto status = facts.number(fabric + ".status"); status != 0) {
    return does_not(kId, where + "the set-up failed: " + nvml_error(status.value_or(-1)),
                    kFabricManager, kFabricSource);
  }
  const std::string sick = health_trouble(facts.number(fabric + ".health").value_or(0));
  if (sick.empty()) return std::nullopt;
  return does_not(kId, where + sick, kFabricManager, kFabricSource);
}

Check judge_fabric(const Facts& facts, int count) {
  std::set<std::string> clusters, cliques;
  for (int i = 0; i < count; ++i) {
    if (auto check = fabric_trouble(facts, i)) return *check;
    clusters.insert(facts.text(device_key(i) + ".fabric.cluster"));
    cliques.insert(facts.text(device_key(i) + ".fabric.clique"));
  }
  const bool own =
      clusters.size() == 1 && clusters.begin()->find_first_not_of('0') == std::string::npos;
  std::string text = own ? "set up; a fabric of this machine alone"
                         : fmt::format("set up; cluster {}", *clusters.begin());
  if (clusters.size() > 1) text += fmt::format(" and {} more", clusters.size() - 1);
  text += fmt::format(", clique {}", *cliques.begin());
  if (cliques.size() > 1) {
    text += fmt::format(" and {} more: devices of two cliques do not reach each other",
                        cliques.size() - 1);
  }
  if (!own) text += ". NVML cannot say which IMEX domain this is";
  return works("nvlink-fabric", text, kFabricSource);
}

// A mode of a device. It is fine if off; if on, it disables a part of CUDA.
struct Mode {
  const char* id;
  const char* part;   // "mig"
  const char* value;  // "current"
  const char* function;
  const char* off;
};

Check judge_mode(const Facts& facts, int count, const Mode& mode, bool unsupported_is_off,
                 Check (*judge)(int device, long long value)) {
  const std::string source = std::string("NVML: ") + mode.function;
  bool spoken = false;
  for (int i = 0; i < count; ++i) {
    const std::string part = device_key(i) + "." + mode.part;
    const auto code = facts.number(part);
    if (code == kNotSupported && unsupported_is_off) continue;
    if (code != 0) {
      return unknown(mode.id,
                     facts.text(part) == "missing"
                         ? fmt::format("this NVML has no {}", mode.function)
                     : code == kNotSupported ? "NVML answers \"not supported\""
                     : code                  ? nvml_error(*code)
                                             : "NVML did not answer",
                     "", source);
    }
    spoken = true;
    Check check = judge(i, facts.number(part + "." + mode.value).value_or(0));
    check.source = source;
    if (check.status != Status::kWorks) return check;
  }
  return works(mode.id, spoken ? mode.off : "the devices do not have it", source);
}

Check judge_mig(int device, long long current) {
  if (current == 0) return works("mig", "off", "");
  return does_not(
      "mig", fmt::format("on for device {}: instances have no peer access and no fabric", device),
      "`nvidia-smi -mig 0` on the host, with no work on the GPU; or share memory "
      "within one instance alone",
      "");
}

Check judge_virtualization(int device, long long mode) {
  constexpr int kNone = 0, kPassThrough = 1, kVgpu = 2;
  if (mode == kNone || mode == kPassThrough) return works("vgpu", "", "");
  return does_not("vgpu",
                  fmt::format("device {} {}: many vGPU types have no virtual memory management "
                              "(openxla/xla#49252)",
                              device, mode == kVgpu ? "is a vGPU" : "is cut into vGPUs"),
                  "pass-through of a whole GPU, or a vGPU type for compute (the vmm line says "
                  "what this one can)",
                  "");
}

Check judge_confidential(const Facts& facts) {
  constexpr const char* kId = "confidential-computing";
  constexpr const char* kSource =
      "NVML: nvmlSystemGetConfComputeState; open-gpu-kernel-modules: mem_multicast_fabric.c";
  const auto code = facts.number("confidential");
  if (code == kNotSupported) return works(kId, "the platform does not have it", kSource);
  if (code != 0) {
    return unknown(kId,
                   facts.text("confidential") == "missing"
                       ? "this NVML has no nvmlSystemGetConfComputeState"
                   : code ? nvml_error(*code)
                          : "NVML did not answer",
                   "", kSource);
  }
  if (facts.number("confidential.feature") == 0) return works(kId, "off", kSource);
  return does_not(kId, "on: multicast is refused, and fabric memory may be",
                  "a virtual machine without it, or `nvidia-smi conf-compute` on the host",
                  kSource);
}

}  // namespace

std::vector<Check> judge_nvml(const Ended& answers) {
  const Check start = judge_start(answers);
  const Facts& facts = answers.facts;
  const int count = nvml_devices(answers);
  if (start.status != Status::kWorks || count <= 0) {
    std::vector<Check> checks{start};
    const bool works_without = start.status == Status::kWorks;
    for (const char* id : {"nvlink-fabric", "mig", "vgpu", "confidential-computing"}) {
      checks.push_back(unknown(id,
                               works_without ? "NVML sees no GPU" : "NVML does not work (see nvml)",
                               works_without ? "see device-nodes" : "see nvml", start.source));
    }
    return checks;
  }
  return {start, judge_fabric(facts, count),
          judge_mode(facts, count, {"mig", "mig", "current", "nvmlDeviceGetMigMode", "off"}, true,
                     judge_mig),
          judge_mode(
              facts, count,
              {"vgpu", "virtualization", "mode", "nvmlDeviceGetVirtualizationMode", "whole GPUs"},
              false, judge_virtualization),
          judge_confidential(facts)};
}

}  // namespace cuvmm::doctor
