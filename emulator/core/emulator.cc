// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/emulator.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "api/location.h"
#include "api/newer/pools.h"
#include "api/posix/cancel_off.h"
#include "api/sizes.h"
#include "emulator/base/device_identity.h"
#include "emulator/base/mutation.h"
#include "emulator/base/say.h"
#include "emulator/core/stopped.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/machine/device_attributes.h"
#include "rulebook/base/describe_devices.h"

namespace cuvmm::emulator {

namespace {

bool somebody_is_inside() {
  std::mutex& mutex = Emulator::get().mutex;
  if (!mutex.try_lock()) return true;
  mutex.unlock();
  return false;
}

// Runs when the library is loaded, because later a fork could come in between; a program's
// pre-initialisers may call the emulator before that.
__attribute__((constructor)) void follow_this_process() {
  Emulator::get();
  follow_forks(somebody_is_inside);
}

}  // namespace

Emulator& Emulator::get() {
  static Emulator* const emulator = new Emulator;
  return *emulator;
}

CUresult Emulator::initialize() {
  if (ready()) return CUDA_SUCCESS;
  const CancelOff no_cancel;
  follow_this_process();
  const CUresult result = load();
  if (result == CUDA_SUCCESS) {
    g_process_page.pid = ::getpid();
    begin_life();
  }
  return result;
}

CUresult Emulator::unready(EntryPoint entry) {
  if (const CUresult answer = end_of_life(); answer != CUDA_SUCCESS) return answer;
  const std::lock_guard lock(mutex);
  if (ready()) return CUDA_SUCCESS;
  return ended() ? CUDA_ERROR_DEINITIALIZED : before_init(entry);
}

CUresult Emulator::before_init(EntryPoint entry) {
  if (!load_profile_once(read_options())) return CUDA_ERROR_NOT_INITIALIZED;
  const Verdict& verdict = profile.verdict(entry, Rule::kDriverInitialized);
  if (verdict.kind == Verdict::Kind::kCode) return verdict.code;
  // The call is refused under every profile, because no driver initialises itself. Only a
  // deliberate mistake (CUVMM_MUTATION) lets it pass.
  if (!mistake_ || verdict.kind != Verdict::Kind::kAccepts) return CUDA_ERROR_NOT_INITIALIZED;
  return initialize() == CUDA_SUCCESS ? CUDA_SUCCESS : kUnperformed;
}

bool Emulator::load_profile_once(const Options& options) {
  if (profile_loaded_) return true;
  const CancelOff no_cancel;
  ProfileResult loaded =
      load_profile(options.profile.empty() ? builtin_profiles().front() : options.profile);
  if (!loaded.error.empty()) {
    complain("CUVMM_PROFILE: " + loaded.error);
    return false;
  }
  profile = std::move(loaded.profile);
  mutation().apply(profile);
  if (hostile_driver().large_granules) {
    profile.device_granularity_minimum *= HostileDriver::kTimesLarger;
    profile.device_granularity_recommended =
        std::max(profile.device_granularity_recommended, profile.device_granularity_minimum);
  }
  if (mutation().is_mistake()) mistake_ = &mutation();
  profile_loaded_ = true;
  return true;
}

CUresult Emulator::driver_version(int& version) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (end_of_life() == CUDA_SUCCESS) {
    const std::lock_guard lock(mutex);
    load_profile_once(read_options());
  } else if (!profile_loaded_) {
    return CUDA_ERROR_NOT_INITIALIZED;  // a child of fork, in the middle of cuInit
  }
  version = profile.cuda_version;
  return CUDA_SUCCESS;
}

// What a trouble of the fabric changes of the driver's facts.
static void apply_outage(Outage outage, Profile& profile) {
  if (outage == Outage::kNoFabric) {
    profile.attributes[CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED] = 0;
  }
  if (outage == Outage::kLargeGranularity) {
    profile.multicast_granularity_minimum = profile.multicast_granularity_recommended =
        std::uint64_t{512} << 20;
  }
}

// Fills in the attributes of devices that rules read.
static void describe_by(const Profile& profile, int devices, Platform& platform) {
  platform.driver_version = profile.cuda_version;
  const auto ask = [&](int which, int) -> std::optional<int> {
    const auto set = profile.attribute(which, devices);
    const int value = set ? *set : default_attribute(which).value_or(0);
    return which == kDeviceLocalityDomains ? std::max(value, 1) : value;
  };
  describe_devices(devices, ask, platform);
}

// For each device that this process sees, a mask of the devices that it reaches. `host` has these
// masks by the host's numbers, whose first device is `first`; where it is empty, all devices are
// peers of each other, as over NVLink.
static std::vector<std::uint64_t> reach_among(const std::vector<int>& visible, int first,
                                              const std::vector<std::uint64_t>& host) {
  std::vector<std::uint64_t> reach(visible.size());
  for (std::size_t own = 0; own < visible.size(); ++own) {
    const auto row = static_cast<std::size_t>(visible[own] - first);
    const std::uint64_t peers = host.empty()        ? ~std::uint64_t{0}
                                : row < host.size() ? host[row]
                                                    : 0;
    for (std::size_t peer = 0; peer < visible.size(); ++peer) {
      const bool near = (peers >> (visible[peer] - first) & 1) != 0;
      if (near && hostile_driver().peers(visible[own], visible[peer]))
        reach[own] |= std::uint64_t{1} << peer;
    }
  }
  return reach;
}

CUresult Emulator::load() {
  const Options options = read_options();
  if (!options.error.empty()) {
    complain(options.error);
    return CUDA_ERROR_NO_DEVICE;
  }
  if (const std::string wrong = hostile_driver_error(); !wrong.empty()) {
    complain(wrong);
    return CUDA_ERROR_NO_DEVICE;
  }
  if (!mutation().error.empty()) {
    complain(mutation().error);
    return CUDA_ERROR_NO_DEVICE;
  }
  if (options.outage == Outage::kFabricManager) return CUDA_ERROR_SYSTEM_NOT_READY;
  outage_ = options.outage;
  const int first = options.host * options.devices;
  const std::vector<int> visible =
      visible_devices(secure_getenv("CUDA_VISIBLE_DEVICES"), options.devices, first);
  const int count = static_cast<int>(visible.size());
  if (count == 0) return CUDA_ERROR_NO_DEVICE;
  if (!load_profile_once(options)) return CUDA_ERROR_NO_DEVICE;
  apply_outage(outage_, profile);
  if (!space.open(profile.address_base)) {
    complain("no address space left for device addresses");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Platform platform = profile.platform;
  platform.device_count = count;
  platform.complete = true;
  if (platform.numa_nodes == 0) platform.numa_nodes = 1;
  platform.reach = reach_among(visible, first, platform.reach);
  platform.multicast_known = true;
  machine_devices_ = options.hosts * options.devices;
  // The fabric of a device stays, however few devices the process sees.
  const int multicast = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
  if (profile.attribute(multicast, machine_devices_).value_or(0) != 0) {
    platform.multicast = (std::uint64_t{1} << count) - 1;
  }
  describe_by(profile, count, platform);
  describe_fabric(profile, count, platform);
  multicast_timeout_ = std::chrono::milliseconds(options.multicast_timeout_ms);
  faults_of_devices_ = profile.has(Quirk::kFaultOfDevice) && !options.context_faults;
  runs_kernels_ = options.run_kernels;
  kernel_steps_ = options.kernel_steps;
  kernel_checks_ = options.kernel_checks;
  if (kernel_checks_.init) Physical::follow_writes();
  // Constructs the model on the heap, because a model is larger than the stacks of many threads.
  model = std::move(*std::make_unique<Model>(std::move(platform)));
  const std::uint64_t memory = options.device_memory ? options.device_memory : profile.total_memory;
  devices.open(count, memory);
  for (int device = 0; device < count; ++device) {
    devices.limit(device,
                  hostile_driver().memory_of(visible[static_cast<std::size_t>(device)], memory));
  }
  g_visible.show(visible.data(), count, options.host, first);
  contexts.open(count);
  queues.open(options.streams);
  pools.open(devices, domains_of(model.platform(), 0), model.platform().numa_nodes);
  return CUDA_SUCCESS;
}

bool Emulator::can_reach(int device, int peer) const {
  if (device == peer) return true;
  return (model.platform().reach[static_cast<std::size_t>(device)] >> peer) & 1;
}

Context* Emulator::current_context() const { return ContextStack::of_this_thread().live(); }

CUresult Emulator::no_context() const {
  const Context* context = ContextStack::of_this_thread().current();
  return context && !context->alive ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
}

Facts Emulator::facts() const {
  Facts facts;
  // Another thread's exit() may have ended the driver in the middle of this call, which goes on.
  facts.initialized = ready() || ended() ? Facts::Answer::kYes : Facts::Answer::kNo;
  const Context* context = current_context();
  facts.place.context = context ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (context) {
    facts.place.device = context->device;
    facts.place.context_id = context->id;
  }
  return facts;
}

void Emulator::drop_if_dead(Handle handle) {
  if (!model.allocation(handle) && physical.drop(handle)) teams.drop(handle);
}

CUresult Emulator::allocate_plain(Context& context, Size size, Address* address) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = context.device;
  return allocate_memory(&context, size, prop, 0, address);
}

std::uint64_t Emulator::free_memory(int device) {
  const std::uint64_t free = devices.free(device);
  graph_memory.look([this](Address address) { return plain.find(address) != nullptr; });
  return free - std::min(free, graph_memory.idle(device));
}

CUresult Emulator::allocate_memory(Context* context, Size size, const CUmemAllocationProp& prop,
                                   std::uint64_t pool, Address* address) {
  constexpr Size kCharge = 512;  // the unit in bytes to which a driver rounds small allocations up
  const bool on_device = is_device(prop.location);
  const int device = on_device ? device_of(prop.location) : 0;
  if (size > devices.total(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto by_pool = pools.growth(pool, size);
  const Size charge = on_device && !by_pool ? (size + kCharge - 1) / kCharge * kCharge : 0;
  const Size needed = by_pool.value_or(charge);
  if (needed > free_memory(device)) physical.drop_unheld();
  if (needed > free_memory(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  const Size pages = (size + kPage - 1) / kPage * kPage;
  Physical memory(pages, prop, false, charge, devices.account(device));
  if (hostile_driver().poison) memory.poison();
  return add_plain({.size = size,
                    .context = context,
                    .memory = std::move(memory),
                    .pool = pool,
                    .on_cpu = !on_device},
                   address);
}

CUresult Emulator::allocate_managed(Context& context, Size size, const Pool* pool,
                                    Address* address) {
  if (size > AddressSpace::kLargest) return CUDA_ERROR_OUT_OF_MEMORY;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = context.device;
  auto advice = std::make_shared<ManagedAdvice>();
  if (pool) {
    const CUmemLocation& preferred = pool->prop().location;
    advice->preferred = {static_cast<int>(preferred.type), preferred.id};
    if (preferred.type == CU_MEM_LOCATION_TYPE_DEVICE) prop.location.id = preferred.id;
  }
  const Size pages = (size + kPage - 1) / kPage * kPage;
  // The memory counts for no device, because managed memory may be larger than a device's.
  return add_plain({.size = size,
                    .context = &context,
                    .memory = Physical(pages, prop, false, 0, nullptr),
                    .pool = pool ? pool->handle() : 0,
                    .on_cpu = true,
                    .managed = std::move(advice)},
                   address);
}

CUresult Emulator::add_plain(PlainAllocation&& allocation, Address* address) {
  const PlainAllocation* added = plain.add(std::move(allocation));
  if (!added) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = added->base;
  return CUDA_SUCCESS;
}

PlainAllocation* Emulator::adopt(Context* context, Size size, Physical&& memory,
                                 const IpcBytes& ticket, Size offset) {
  return plain.add({.size = size,
                    .context = context,
                    .memory = std::move(memory),
                    .offset = offset,
                    .ticket = ticket});
}

void Emulator::free_plain_of(const Context& context) {
  const auto tell_model = [&](const auto& end) {
    Retired retired;
    model.begin(end, {}, retired);
    model.confirm(end, {}, {}, retired);
  };
  const auto its = [&](const PlainAllocation& each) {
    return each.context == &context && each.pool == 0;
  };
  plain.end_if(its, [&](const PlainAllocation& each) {
    if (each.opens == 0) tell_model(calls::MemFree{.dptr = each.base});
  });
  // As on an H100: the process loses pages that the driver allocated, and registrations end.
  host.end_those_of(context, [&](Address base, bool registered) {
    auto* const p = reinterpret_cast<void*>(base);
    if (registered) {
      tell_model(calls::MemHostUnregister{.p = p});
    } else {
      tell_model(calls::MemFreeHost{.p = p});
    }
  });
}

const Team* Emulator::team_at(Address address, Size* run, Size* offset) const {
  if (teams.empty()) return nullptr;
  const Mapping* mapping = model.mapping_at(address);
  const Team* const team = mapping ? teams.find(mapping->handle) : nullptr;
  if (!team) return nullptr;
  *run = std::min(*run, mapping->size - (address - mapping->base));
  *offset = mapping->offset + (address - mapping->base);
  return team;
}

Physical* Emulator::memory_at(Address address, Size* run, Size* offset) {
  if (const Mapping* mapping = model.mapping_at(address)) {
    *offset = address - mapping->base;
    *run = std::min(*run, mapping->size - *offset);
    return physical.find(mapping->handle);
  }
  PlainAllocation* const allocation = plain.at(address);
  if (!allocation || allocation->coming) return nullptr;
  const Size inside = address - allocation->base;
  *run = std::min(*run, allocation->size - inside);
  *offset = allocation->offset + inside;
  return &allocation->memory;
}

char* Emulator::resolve(Address address, Size* run, bool reads) {
  Size offset = 0;
  Physical* const memory = memory_at(address, run, &offset);
  if (!memory) {
    const bool own = !space.owns(address, 1) && !model.mapping_at(address) && !plain.at(address);
    return own ? reinterpret_cast<char*>(address) : nullptr;  // the program's own memory
  }
  char* const bytes = memory->touch(offset, *run);
  if (!reads) memory->written().set(offset, *run);
  return bytes ? bytes + offset : nullptr;
}

}  // namespace cuvmm::emulator
