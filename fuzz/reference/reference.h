// SPDX-License-Identifier: Apache-2.0
// A second opinion: the rules of virtual memory management over flat lists, written from
// rulebook/rules/*.def alone.
//
// The reference is naive on purpose, and not the model: a plain vector has one cell per reserved or
// mapped granule of 2 MiB, and each question looks at all cells. The reference and the model share
// only the catalogue of rules and, for a driver's answer to a broken rule, its profile.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "api/calls.h"
#include "fuzz/ops/op.h"
#include "fuzz/reference/judgement.h"
#include "fuzz/reference/state/array_state.h"
#include "fuzz/reference/state/capture_state.h"
#include "fuzz/reference/state/endpoint_state.h"
#include "fuzz/reference/state/external_state.h"
#include "fuzz/reference/state/multicast_team.h"
#include "fuzz/reference/state/plain_list.h"
#include "fuzz/reference/state/pool_state.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::fuzz {

inline bool aligned(std::uint64_t value) { return value % kGranule == 0; }

/// Whether [offset, offset + size) lies in [0, whole).
inline bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

/// The machine on which the calls are made.
struct ReferenceMachine {
  int devices = 1;
  std::uint64_t device_memory = ~std::uint64_t{0};  ///< bytes per device
  bool charge = true;  ///< predict OUT_OF_MEMORY from it; false: OUT_OF_MEMORY may always happen
  int cuda_version = 13000;      ///< of the driver, in cuDriverGetVersion's format
  bool fabric_channel = false;   ///< an IMEX channel is accessible
  bool host_multinode = false;   ///< memory of NUMA nodes can have fabric handles (attribute 143)
  bool domains = false;          ///< a device has locality domains (attribute 149)
  bool owner_endpoints = false;  ///< a device uses its own unicast endpoints (attribute 156)
};

/// judge() is called before a call, accept() after it succeeded (it reads the out-parameters), and
/// refuse() after some failed calls. All other failed calls change nothing.
class Reference {
 public:
  explicit Reference(ReferenceMachine machine) : machine_(machine) {}
  /// Another process of the machine of `first`. Both references share the content of memory and the
  /// objects of descriptors; all other state is separate. Each asks the other for the memory of its
  /// names of legacy IPC, so neither may be used after the other is destroyed.
  Reference(ReferenceMachine machine, Reference& first)
      : machine_(machine),
        memories_(first.memories_),
        descriptors_(first.descriptors_),
        external_(first.external_),
        partner_(&first) {
    first.partner_ = this;
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  /// Forgets everything, also the other process's memories and descriptors.
  void clear();

  // A judge() for each call of ops.def.
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) Judgement judge(const calls::Call&, Actor) const;
#define CUVMM_FUZZ_OP_ALSO(code, extra, Call, ...) Judgement judge(const calls::Call&, Actor) const;
#define CUVMM_FUZZ_OP_SAME(...)
#include "fuzz/ops/ops.def"

  /// Adds to the judgement of a call that it is made while streams capture.
  void hold_back(Judgement& out, EntryPoint entry, Actor actor) const;

  // Record a success. Return a sentence about wrong outputs, or null.
  const char* accept(const calls::MemAddressReserve&);
  const char* accept(const calls::MemAddressFree&);
  const char* accept(const calls::MemCreate&);
  const char* accept(const calls::MemRelease&);
  const char* accept(const calls::MemMap&);
  const char* accept(const calls::MemUnmap&);
  const char* accept(const calls::MemSetAccess&, const Profile& profile);
  const char* accept(const calls::MemGetAccess&);
  const char* accept(const calls::MemExportToShareableHandle&);
  const char* accept(const calls::MemImportFromShareableHandle&);
  const char* accept(const calls::MemGetAllocationGranularity&);
  const char* accept(const calls::MemGetAllocationPropertiesFromHandle&);
  const char* accept(const calls::MemRetainAllocationHandle&);
  const char* accept(const calls::MemGetHandleForAddressRange&);
  const char* accept(const calls::MemsetD8&);
  const char* accept(const calls::MemsetD16&);
  const char* accept(const calls::MemsetD32&);
  const char* accept(const calls::MemcpyDtoH&);
  const char* accept(const calls::MemcpyHtoD&);
  const char* accept(const calls::MemcpyDtoD&);
  const char* accept(const calls::MemFree&);
  const char* accept(const calls::ImportExternalMemory&, Actor);
  const char* accept(const calls::ExternalMemoryGetMappedBuffer&);
  const char* accept(const calls::DestroyExternalMemory&);
  const char* accept(const calls::MulticastCreate&);
  const char* accept(const calls::MulticastAddDevice&);
  const char* accept(const calls::MulticastBindMem&);
  const char* accept(const calls::MulticastBindAddr&);
  const char* accept(const calls::MulticastUnbind&);
  const char* accept(const calls::MulticastGetGranularity&);
  const char* accept(const calls::MemPoolCreate&);
  const char* accept(const calls::DeviceGetDefaultMemPool&);
  const char* accept(const calls::MemPoolDestroy&);
  const char* accept(const calls::MemAllocFromPoolAsync&);
  const char* accept(const calls::MemFreeAsync&);
  const char* accept(const calls::MemPoolSetAccess& call);
  const char* accept(const calls::DeviceSetMemPool&);
  const char* accept(const calls::MemPoolExportToShareableHandle&);
  const char* accept(const calls::MemPoolImportFromShareableHandle&);
  const char* accept(const calls::MemPoolExportPointer&);
  const char* accept(const calls::MemPoolImportPointer&);
  const char* accept(const calls::MemAlloc&, Actor);
  const char* accept(const calls::IpcGetMemHandle&);
  const char* accept(const calls::IpcOpenMemHandle&, Actor);
  const char* accept(const calls::IpcCloseMemHandle&);
  const char* accept(const calls::LogicalEndpointIdReserve&);
  const char* accept(const calls::LogicalEndpointIdRelease&);
  const char* accept(const calls::LogicalEndpointCreate&);
  const char* accept(const calls::LogicalEndpointAddDevice&);
  const char* accept(const calls::LogicalEndpointDestroy&);
  const char* accept(const calls::LogicalEndpointBindAddr&);
  const char* accept(const calls::LogicalEndpointBindMem&);
  const char* accept(const calls::LogicalEndpointUnbind&);
  const char* accept(const calls::LogicalEndpointExport&);
  const char* accept(const calls::LogicalEndpointImport&);
  const char* accept(const calls::LogicalEndpointGetLimits&);
  const char* accept(const calls::LogicalEndpointQuery&);
  const char* accept(const calls::FabricCpyBatchAsync&);
  const char* accept(const calls::MemPoolTrimTo&) { return nullptr; }
  const char* accept(const calls::MemPoolGetAttribute&);
  const char* accept(const calls::MemPoolSetAttribute&);
  const char* accept(const calls::StreamWriteValue32&, Actor);
  const char* accept(const calls::StreamWriteValue64&, Actor);
  const char* accept(const calls::StreamBatchMemOp&, Actor);
  const char* accept(const calls::MemPrefetchAsync_v2&) { return nullptr; }
  const char* accept(const calls::MemAdvise_v2&) { return nullptr; }
  const char* accept(const calls::MemGetDefaultMemPool&);
  const char* accept(const calls::MemGetMemPool&);
  const char* accept(const calls::MemSetMemPool&);
  const char* accept(const calls::MemGetLocationInfo&) { return nullptr; }
  const char* accept(const calls::ArrayCreate&, Actor);
  const char* accept(const calls::ArrayDestroy&);
  const char* accept(const calls::MipmappedArrayCreate&, Actor);
  const char* accept(const calls::MipmappedArrayGetLevel&);
  const char* accept(const calls::MipmappedArrayDestroy&);
  const char* accept(const calls::Array3DCreate&, Actor);
  const char* accept(const calls::ArrayGetSparseProperties&);
  const char* accept(const calls::MipmappedArrayGetSparseProperties&);
  const char* accept(const calls::MemMapArrayAsync&);
  const char* accept(const calls::MemcpyHtoA&);
  const char* accept(const calls::MemcpyAtoH&);
  const char* accept(const calls::MemcpyDtoA&);
  const char* accept(const calls::MemcpyAtoD&);
  const char* accept(const calls::Memcpy2D&);
  const char* accept(const calls::Memcpy2DUnaligned&);
  const char* accept(const calls::StreamCreate&, Actor);
  const char* accept(const calls::StreamDestroy&);
  const char* accept(const calls::StreamBeginCapture&, Actor);
  const char* accept(const calls::StreamEndCapture&);
  const char* accept(const calls::StreamSynchronize&) { return nullptr; }
  const char* accept(const calls::StreamQuery&) { return nullptr; }
  const char* accept(const calls::MemsetD8Async&);
  const char* accept(const calls::MemcpyDtoDAsync&);
  const char* accept(const calls::EventCreate&, Actor);
  const char* accept(const calls::EventDestroy&);
  const char* accept(const calls::EventRecord&);
  const char* accept(const calls::EventQuery&) { return nullptr; }
  const char* accept(const calls::EventSynchronize&) { return nullptr; }
  const char* accept(const calls::StreamWaitEvent&);
  const char* accept(const calls::GraphInstantiateWithFlags&);
  const char* accept(const calls::GraphLaunch&);
  const char* accept(const calls::GraphExecDestroy&);

  /// Record the effect that a driver with this profile has although it refuses.
  void refuse(const calls::MemSetAccess&, CUresult answer, const Profile& profile);
  void refuse(const calls::ImportExternalMemory&, CUresult answer, const Profile& profile);
  // Record that a refusal ends captures, or invalidates them.
  void refuse(const calls::StreamBeginCapture&, CUresult answer, Actor);
  void refuse(const calls::StreamEndCapture&, CUresult answer, Actor);
  void refuse(const calls::StreamSynchronize&, CUresult answer, Actor);
  void refuse(const calls::StreamQuery&, CUresult answer, Actor);
  void refuse(const calls::StreamWaitEvent&, CUresult answer, Actor);
  void refuse(const calls::MemsetD8Async&, CUresult answer, Actor);
  void refuse(const calls::MemcpyDtoDAsync&, CUresult answer, Actor);
  void refuse(const calls::EventRecord&, CUresult answer, Actor);
  void refuse(const calls::EventQuery&, CUresult answer, Actor);
  void refuse(const calls::EventSynchronize&, CUresult answer, Actor);
  void refused_in_capture(EntryPoint entry, CUresult answer, Actor actor);

  /// Whether a stream of the program captures: a capture forbids calls that wait for other work.
  bool capturing() const { return captures_.capturing(); }
  /// Records that the program closed this descriptor.
  void close(int fd);
  /// Whether every byte that the read returns was written before, so that its value is known.
  bool knows(const calls::MemcpyDtoH& call) const;
  bool knows(const calls::MemcpyAtoH& call) const;

  // The objects that remain, for the clean-up.
  struct Span {
    std::uint64_t base, size;
  };
  std::vector<Span> mapped() const;
  std::vector<Span> reserved() const;
  std::vector<std::uint64_t> references() const;  ///< a handle as often as it must be released
  std::vector<int> descriptors() const;
  std::vector<Span> plain() const;
  std::vector<std::uint64_t> opened() const;  ///< a pointer as often as it must be closed
  std::vector<std::uint64_t> external_memories() const;
  std::vector<std::uint64_t> pools() const;
  std::vector<std::uint64_t> arrays() const;  ///< without levels, which end with their array
  std::vector<std::uint64_t> mipmaps() const;
  std::vector<std::uint64_t> streams() const;
  std::vector<std::uint64_t> events() const;
  std::vector<std::uint64_t> graphs() const;
  std::vector<std::uint64_t> executables() const;
  std::vector<std::uint32_t> endpoints() const;
  std::vector<std::uint32_t> endpoint_ids() const;
  /// Default pools and those of their attributes (1..4) that were set.
  std::vector<std::pair<std::uint64_t, int>> attributes_of_defaults() const;
  /// Default pools and devices that got access to them.
  std::vector<std::pair<std::uint64_t, int>> given_to_defaults() const;

 private:
  static constexpr int kPlaces = 9;  ///< devices 0..7, then the host
  struct Cell {
    std::uint64_t address;
    int range;    ///< index into ranges_, -1: no reservation
    int mapping;  ///< index into mappings_, -1: nothing mapped
  };
  struct Range {
    std::uint64_t base, size;
    bool live;
  };
  struct Mapped {
    std::uint64_t base, size;
    int handle;  ///< index into handles_
    unsigned char access[kPlaces];
    bool device_last;  ///< the access of device 0 changed after the host's
    bool live;
    std::uint64_t offset = 0;  ///< into a multicast object
  };
  struct Write {
    std::uint64_t at;
    std::vector<unsigned char> bytes;
    bool known;
  };
  struct Memory {
    std::uint64_t size;
    CUmemAllocationProp prop;
    std::vector<Write> writes;
    int team = -1;  ///< index into teams_, for a multicast object
  };
  struct Named {
    std::uint64_t value;  ///< the handle
    int memory;           ///< index into memories_
    int references;
    int mappings;
    bool imported;
    bool alive() const { return references > 0 || mappings > 0; }
  };
  struct Descriptor {
    int fd;
    int memory;
    bool open;
    int pool = -1;       ///< index into the pools, for an export of a pool
    bool other = false;  ///< another process than the first made it
  };

  /// The memory of a live address; memory is -1 where the address has none. `run` is the number of
  /// bytes for which that holds.
  struct Spot {
    int memory = -1;
    std::uint64_t offset = 0;
    std::uint64_t run = 0;
  };
  Spot spot(std::uint64_t address) const;
  /// Whether this is another process than the first.
  bool other() const { return &memories_ != &own_memories_; }
  /// Whether the address lies both in plain memory and in the tail of a mapping beyond its
  /// reservation.
  bool ambiguous(std::uint64_t address) const;
  // Pools.
  const PoolState::Pool* judge_pool(Judgement& out, CUmemoryPool pool, Rule valid,
                                    Rule alive) const;
  int pool_behind(int fd) const;
  /// Whether it is an imported pool, as far as its handle names one.
  bool was_imported(CUmemoryPool pool) const;
  bool has_attribute(int attribute) const;
  struct PlaceRules {
    Rule location, type, location_type, device, node;
  };
  void judge_place(Judgement& out, const CUmemLocation* place, CUmemAllocationType type,
                   const PlaceRules& rules) const;
  const char* add_default(std::uint64_t pool, const CUmemLocation& place);
  void set_current(std::uint64_t pool, int location_type, int location);
  void judge_managed(Judgement& out, std::uint64_t base, std::uint64_t size) const;
  void judge_managed_place(Judgement& out, const CUmemLocation& place, int last_type) const;
  /// The index of new memory that has not been written to.
  int fresh_memory(std::uint64_t size, int type, int id);
  // Multicast.
  struct Bind {
    std::uint64_t object, offset, size;
    unsigned long long flags;
    const Named* memory;      ///< null for none
    std::uint64_t memory_at;  ///< offset or address, as in the call
    std::uint64_t memory_offset;
  };
  bool is_team(int memory) const {
    return memory >= 0 && memories_[static_cast<std::size_t>(memory)].team >= 0;
  }
  const MulticastTeam* team_of(const Named& named) const;
  const MulticastTeam* team_at(const Cell& cell) const;  ///< of a mapped cell
  bool holds(const MulticastTeam::Binding& binding) const;
  bool bound(int handle) const;
  const MulticastTeam* judge_team(Judgement& out, std::uint64_t value) const;
  void judge_bind(Judgement& out, const Bind& bind) const;
  void judge_map(Judgement& out, const calls::MemMap& call, const MulticastTeam& team) const;
  void judge_touch(Judgement& out, const MulticastTeam& team, const Cell& cell, std::uint64_t at,
                   std::uint64_t size, bool write) const;
  const char* bind(const Bind& bind);
  void store(const MulticastTeam& team, std::uint64_t offset, const unsigned char* bytes,
             std::uint64_t size, bool known);
  // Logical endpoints.
  struct EndpointBind {
    std::uint32_t id;
    int device;
    std::uint64_t offset, size;
    unsigned long long flags;
    std::uint64_t memory_at;  ///< offset or address, as in the call
    /// The bound memory: the reference's index of the memory, -1 for none; of its handle, or of its
    /// entry in the list of plain memory; and the place in it.
    int memory, handle, plain;
    std::uint64_t memory_offset;
  };
  using Endpoint = EndpointState::Name;
  const Endpoint* judge_endpoint(Judgement& out, std::uint32_t id) const;
  void judge_new_endpoint(Judgement& out, std::uint32_t id) const;
  void judge_endpoint_prop(Judgement& out, const CUlogicalEndpointProp& prop, bool asked) const;
  EndpointBind bind_of(const calls::LogicalEndpointBindMem& call) const;
  EndpointBind bind_of(const calls::LogicalEndpointBindAddr& call) const;
  void judge_bind(Judgement& out, const EndpointBind& bind) const;
  const char* bind(const EndpointBind& bind);
  const EndpointState::Object& object_of(const Endpoint& endpoint) const {
    return endpoints_.objects[static_cast<std::size_t>(endpoint.object)];
  }
  /// Whether the memory behind a binding was freed. No document says the state of such a binding.
  bool ended(const EndpointState::Binding& binding) const;
  void judge_fabric(Judgement& out, const CUDA_FABRIC_COPY_BATCH_OP& op, Actor actor) const;
  void judge_fabric_endpoint(Judgement& out, const CUDA_FABRIC_COPY_BATCH_OP& op, bool write,
                             Actor actor) const;
  /// Returns whether the pointer is local to the device.
  bool judge_fabric_pointer(Judgement& out, std::uint64_t at, std::uint64_t size, bool write,
                            Actor actor) const;
  void copy(const CUDA_FABRIC_COPY_BATCH_OP& op);
  // Arrays.
  ArrayState::Array* array_of(CUarray handle);
  const ArrayState::Array* array_of(CUarray handle) const;
  const ArrayState::Mipmap* mipmap_of(CUmipmappedArray handle) const;
  void judge_array(Judgement& out, CUarray handle, std::uint64_t offset, std::uint64_t size,
                   Actor actor) const;
  Judgement judge_block(const CUDA_MEMCPY2D* copy, bool into_array, Actor actor) const;
  const ArrayState::Tiled* tiled_of(const CUarrayMapInfo& info, bool& live) const;
  void judge_region(Judgement& out, const CUarrayMapInfo& info) const;
  void judge_tile_memory(Judgement& out, const CUarrayMapInfo& info, int device) const;
  bool follows(const ArrayState::Array& array, std::uint64_t x, std::uint64_t y,
               std::uint64_t width, std::uint64_t rows) const;
  void write_row(CUarray handle, std::uint64_t offset, const std::vector<int>& bytes);
  int row_byte(CUarray handle, std::uint64_t at) const;
  // Captures.
  static bool forbids(const CaptureState::Capture& capture, Actor actor);
  void judge_unsafe(Judgement& out, Actor actor) const;
  void judge_legacy(Judgement& out, Actor actor) const;
  const CaptureState::Stream* judge_stream(Judgement& out, CUstream handle, Actor actor) const;
  const CaptureState::Stream* judge_work(Judgement& out, CUstream handle, Actor actor) const;
  const CaptureState::Event* judge_event(Judgement& out, CUevent handle, Actor actor) const;
  Judgement judge_node(const CaptureState::Node& node, int device) const;
  void judge_wait(Judgement& out, CUstream handle, Actor actor) const;
  void judge_event_wait(Judgement& out, CUevent handle, Actor actor) const;
  void refuse_wait(CUstream handle, CUresult answer, Actor actor);
  void refuse_event_wait(CUevent handle, CUresult answer, Actor actor);
  static void lose(CaptureState::Capture& capture);
  void lose_all(bool unsafe, Actor actor);
  /// Whether the capture's first stream waits for all its work.
  bool joined(const CaptureState::Capture& capture) const;
  bool captures(CUstream handle) const;
  const char* capture(CUstream handle, CaptureState::Node node);
  /// The open export with this number; null for none.
  const Descriptor* export_at(int fd) const;
  /// Records that a new file has this number.
  void opened(int fd);
  /// Adds memory outside of all reservations; returns a sentence about a wrong address, or null.
  const char* place(const PlainMemory& made);
  void judge_freed(Judgement& out, std::uint64_t address) const;
  void judge_plain(Judgement& out, const PlainMemory& plain) const;
  void judge_fill(Judgement& out, const PlainMemory& plain, Actor actor) const;
  void judge_pool_touch(Judgement& out, const PlainMemory& plain, bool fill, Actor actor) const;
  const Cell* cell_at(std::uint64_t address) const;
  const Cell* mapped_at(std::uint64_t address) const;
  static bool meets(const Cell& cell, std::uint64_t base, std::uint64_t size);
  const Named* handle(std::uint64_t value) const;
  /// The four rules of a handle argument.
  const Named* judge_handle(Judgement& out, std::uint64_t value, Rule zero, Rule valid, Rule alive,
                            Rule referenced) const;
  void judge_prop(Judgement& out, const CUmemAllocationProp& prop) const;
  /// The memory that the other process exported with these 64 bytes, or that was opened here: the
  /// other reference's entry, live or freed.
  const PlainMemory* exported_elsewhere(const void* bytes) const;
  const PlainMemory& exporters(const PlainMemory& opened) const;
  /// Whether another process has opened this memory.
  bool open_elsewhere(const PlainMemory& plain) const;
  /// Records that the driver gave 64 bytes for the memory at `address`; false where no memory is
  /// there.
  bool name_given(std::uint64_t address, const void* bytes, bool of_pool);
  bool valid_device(int id) const { return id >= 0 && id < machine_.devices; }
  /// Whether some mapping shares bytes with the range and does not lie inside it.
  bool cuts(std::uint64_t base, std::uint64_t size) const;
  /// Whether every byte lies in a cell for which `good` holds.
  template <class Good>
  bool all(std::uint64_t base, std::uint64_t size, Good good) const;
  static void grant(Mapped& mapping, const CUmemAccessDesc* desc, std::size_t count);
  const CUmemAllocationProp& prop_of(const Cell& cell) const;
  /// When the CPU makes a copy of host memory.
  enum class ByCpu : std::uint8_t {
    kNever,
    kAlone,         ///< where the device has no access
    kBetweenHosts,  ///< as kAlone, and where the other side also lies on the host
  };
  void judge_touch(Judgement& out, std::uint64_t base, std::uint64_t size, bool write, bool fill,
                   Actor actor, ByCpu by_cpu = ByCpu::kAlone) const;
  /// Judges an address outside of all memory: the program's own memory may have ended there.
  void judge_end(Judgement& out, std::uint64_t address) const;
  void judge_element(Judgement& out, std::uint64_t at, unsigned bytes, Actor actor) const;
  void judge_context(Judgement& out, std::uint64_t base, std::uint64_t size, Actor actor) const;
  void judge_word(Judgement& out, std::uint64_t at, unsigned bytes, bool write, Actor actor) const;
  void write_word(const Judgement& judged, std::uint64_t at, std::uint64_t value, unsigned bytes);
  Judgement judge_write(std::uint64_t base, std::uint64_t size, bool fill, Actor actor,
                        bool from_host = false) const;
  void store(std::uint64_t at, const unsigned char* bytes, std::uint64_t size, bool known);
  /// The same for bytes of which each may be unknown: -1.
  void store(std::uint64_t at, const std::vector<int>& bytes);
  /// The byte at an address; -1: never written.
  int byte_at(std::uint64_t address) const;
  int byte_in(int memory, std::uint64_t at) const;
  const char* fill(std::uint64_t at, unsigned value, unsigned element, std::uint64_t count);
  void drop_cells();

  ReferenceMachine machine_;
  std::vector<Cell> cells_;
  std::vector<Range> ranges_;
  std::vector<Mapped> mappings_;
  std::vector<Named> handles_;
  // Shared by all processes.
  std::vector<Memory> own_memories_;
  std::vector<Descriptor> own_descriptors_;
  ExternalState own_external_;
  std::vector<Memory>& memories_ = own_memories_;
  std::vector<Descriptor>& descriptors_ = own_descriptors_;
  ExternalState& external_ = own_external_;
  const Reference* partner_ = nullptr;  ///< the other process; null for none
  PlainList plain_;
  // State of the first process; other processes only have names of legacy IPC.
  PoolState pool_state_;
  std::vector<MulticastTeam> teams_;
  EndpointState endpoints_;
  ArrayState arrays_;
  CaptureState captures_;
};

}  // namespace cuvmm::fuzz
