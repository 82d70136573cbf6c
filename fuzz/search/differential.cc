// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/differential.h"

#include "api/newer/endpoint.h"
#include "api/newer/pools.h"

namespace cuvmm::fuzz {

namespace {

std::size_t free_memory(Machine& machine, int process) {
  std::size_t free = 0, total = 0;
  if (!machine.error().empty() || process >= machine.processes()) return 0;
  machine.make_current();
  machine.driver(process)(calls::MemGetInfo{&free, &total});
  return free;
}

// What the reference knows of the machine: its devices, and the profile of its driver.
ReferenceMachine described(const Profile& profile, int devices, std::size_t memory, bool charge) {
  const auto says = [&](int attribute) {
    return profile.attribute(attribute, devices).value_or(0) != 0;
  };
  return {.devices = devices,
          .device_memory = memory,
          .charge = charge,
          .cuda_version = profile.cuda_version,
          .fabric_channel = profile.platform.fabric_channel,
          .host_multinode = says(kDeviceHostMultinode),
          .domains = says(kDeviceLocalityDomains),
          .owner_endpoints = says(kAttributeEndpointUnicastOnOwner)};
}

std::optional<Driver> driver_of(const std::unique_ptr<Peer>& peer) {
  return peer ? std::optional(peer->driver()) : std::nullopt;
}

}  // namespace

Differential::Differential(const Driver& driver, Profile profile, DifferentialOptions options,
                           std::unique_ptr<Peer> peer)
    : peer_(std::move(peer)),
      machine_(failing(driver), options.multicast, driver_of(peer_), profile.cuda_version),
      profile_(std::move(profile)),
      options_(options),
      free_memory_{free_memory(machine_, 0), free_memory(machine_, 1)},
      reference_(described(profile_, machine_.devices(), free_memory_[0], options.charge)),
      other_reference_(described(profile_, machine_.devices(), free_memory_[1], options.charge),
                       reference_) {
  machine_.on_close = [this](int fd) { reference_.close(fd); };
}

void Differential::disagree(Result& result, std::size_t at, std::string problem) {
  if (result.verdict == Result::Verdict::kDisagree) return;
  result.verdict = Result::Verdict::kDisagree;
  result.at = at;
  result.problem = std::move(problem);
}

void Differential::clean_up(Result& result) {
  clean_up_streams(result);
  // Importers close first, because memory that another process has open must not be freed.
  for (int process = 0; process < machine_.processes(); ++process) close_opened(result, process);
  for (int process = 0; process < machine_.processes(); ++process) clean_up(result, process);
  for (const int fd : reference_.descriptors()) ::close(fd);
  for (int process = 0; options_.charge && process < machine_.processes(); ++process) {
    if (process && !lost().empty()) continue;
    if (free_memory(machine_, process) == free_memory_[process]) continue;
    disagree(result, result.steps.size(), "the end: memory of device 0 did not come back");
  }
}

void Differential::check_end(Result& result, CUresult answer, const char* what) {
  if (answer == CUDA_SUCCESS) return;
  disagree(result, result.steps.size(),
           std::string("the end: ") + what + " answered " + result_name(answer));
}

void Differential::destroy_endpoints(Result& result) {
  const Driver& driver = machine_.driver();
  for (const std::uint32_t id : reference_.endpoints()) {
    check_end(result, driver(calls::LogicalEndpointDestroy{id}), "destroying an endpoint");
  }
  for (const std::uint32_t id : reference_.endpoint_ids()) {
    check_end(result, driver(calls::LogicalEndpointIdRelease{id, 1}), "releasing an id");
  }
}

void Differential::clean_up_streams(Result& result) {
  const Driver& driver = machine_.driver();
  for (const std::uint64_t stream : reference_.streams()) {
    check_end(result, driver(calls::StreamDestroy{reinterpret_cast<CUstream>(stream)}),
              "destroying a stream");
  }
  // Work on these streams uses memory, which must not end before the work does.
  if (options_.wait) result.broken = driver(calls::CtxSynchronize{}) != CUDA_SUCCESS;
  for (const std::uint64_t event : reference_.events()) {
    check_end(result, driver(calls::EventDestroy{reinterpret_cast<CUevent>(event)}),
              "destroying an event");
  }
  for (const std::uint64_t executable : reference_.executables()) {
    check_end(result, driver(calls::GraphExecDestroy{reinterpret_cast<CUgraphExec>(executable)}),
              "destroying an executable graph");
  }
  for (const std::uint64_t graph : reference_.graphs()) {
    if (!options_.destroy_graph) break;
    check_end(result, options_.destroy_graph(reinterpret_cast<CUgraph>(graph)),
              "destroying a graph");
  }
}

void Differential::clean_up_areas(Result& result) {
  const Driver& driver = machine_.driver();
  for (const std::uint64_t pool : reference_.pools()) {
    check_end(result, driver(calls::MemPoolDestroy{reinterpret_cast<CUmemoryPool>(pool)}),
              "destroying a pool");
  }
  // A default pool outlives the program, with its devices' access.
  for (const auto& [pool, device] : reference_.given_to_defaults()) {
    CUmemAccessDesc none{};
    none.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    none.location.id = device;
    check_end(result,
              driver(calls::MemPoolSetAccess{reinterpret_cast<CUmemoryPool>(pool), &none, 1}),
              "taking a default pool's access back");
  }
  for (const auto& [pool, attribute] : reference_.attributes_of_defaults()) {
    constexpr int kThreshold = 4;
    cuuint64_t value =
        attribute == kThreshold ? 0 : 1;  // the low bytes come first, so it is valid as an int too
    check_end(
        result,
        driver(calls::MemPoolSetAttribute{reinterpret_cast<CUmemoryPool>(pool),
                                          static_cast<CUmemPool_attribute>(attribute), &value}),
        "setting a default pool's attribute back");
    if (attribute != kThreshold) continue;
    // The memory that the pool kept is idle now, and counts as used until it is trimmed.
    check_end(result, driver(calls::MemPoolTrimTo{reinterpret_cast<CUmemoryPool>(pool), 0}),
              "trimming a default pool");
  }
  for (const std::uint64_t object : reference_.external_memories()) {
    const calls::DestroyExternalMemory destroy{reinterpret_cast<CUexternalMemory>(object)};
    check_end(result, driver(destroy), "destroying external memory");
  }
}

void Differential::close_opened(Result& result, int process) {
  if (process && !lost().empty()) return;
  for (const std::uint64_t pointer : reference(process).opened()) {
    check_end(result, machine_.driver(process)(calls::IpcCloseMemHandle{pointer}),
              "closing memory that is open");
  }
}

void Differential::clean_up(Result& result, int process) {
  if (process && !lost().empty()) return;
  const Driver& driver = machine_.driver(process);
  const Reference& reference = this->reference(process);
  const auto check = [&](CUresult answer, const char* what) { check_end(result, answer, what); };
  if (process == 0) destroy_endpoints(result);
  for (const auto& span : reference.mapped()) {
    check(driver(calls::MemUnmap{span.base, span.size}), "unmapping what is mapped");
  }
  for (const auto& span : reference.plain()) {
    check(driver(calls::MemFree{span.base}), "freeing memory that is left");
  }
  for (const std::uint64_t array : reference.arrays()) {
    check(driver(calls::ArrayDestroy{reinterpret_cast<CUarray>(array)}), "destroying an array");
  }
  for (const std::uint64_t array : reference.mipmaps()) {
    check(driver(calls::MipmappedArrayDestroy{reinterpret_cast<CUmipmappedArray>(array)}),
          "destroying a mipmapped array");
  }
  if (process == 0) clean_up_areas(result);
  for (const std::uint64_t handle : reference.references()) {
    check(driver(calls::MemRelease{handle}), "releasing what has a reference");
  }
  for (const auto& span : reference.reserved()) {
    check(driver(calls::MemAddressFree{span.base, span.size}), "freeing what is reserved");
  }
}

std::vector<Note> notes_of(const Result& result) {
  std::vector<Note> notes;
  for (const Step& step : result.steps) {
    Note note;
    if (step.entry != EntryPoint::kCount && !step.skipped) {
      note.text = result_name(step.answer.result);
      const bool shown = step.entry == EntryPoint::kMemGetAccess ||
                         step.entry == EntryPoint::kMemGetAllocationGranularity;
      if (shown && step.answer.result == CUDA_SUCCESS) {
        note.text += " =" + std::to_string(step.answer.value);
      }
      for (int i = 0; i < step.judgement.count; ++i) {
        note.text += std::string(" !") + info(step.judgement.broken[i]).id;
      }
    }
    notes.push_back(std::move(note));
  }
  return notes;
}

void Statistics::add(const Result& result) {
  ++programs;
  if (result.verdict == Result::Verdict::kPoisoned) ++poisoned;
  for (const Step& step : result.steps) {
    if (step.skipped) ++skipped;
    if (step.entry == EntryPoint::kCount || step.skipped) continue;
    ++calls;
    if (step.answer.result == CUDA_SUCCESS) ++succeeded;
    for (int i = 0; i < step.judgement.count; ++i) {
      ++by_rule[static_cast<std::size_t>(step.judgement.broken[i])];
    }
  }
}

std::string Statistics::text() const {
  std::size_t rules = 0;
  for (const std::uint64_t count : by_rule) rules += count != 0;
  const auto percent = [](std::uint64_t part, std::uint64_t whole) {
    return std::to_string(whole ? 100 * part / whole : 0) + " %";
  };
  return std::to_string(programs) + " programs, " + std::to_string(calls) + " calls, " +
         percent(succeeded, calls) + " succeeded, " + std::to_string(skipped) + " left out, " +
         std::to_string(rules) + " rules broken";
}

}  // namespace cuvmm::fuzz
