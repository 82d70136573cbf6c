// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools: creation, memory, export and import. A pool is exported as a descriptor,
// its memory as tickets that name the pool.
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/location.h"
#include "api/sizes.h"
#include "emulator/base/system.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/locked.h"
#include "emulator/core/record.h"
#include "emulator/core/work.h"
#include "emulator/machine/device_attributes.h"
#include "emulator/machine/ticket.h"
#include "emulator/memory/memory_entry.h"
#include "emulator/pool/pool_entry.h"

namespace cuvmm::emulator {

namespace {

bool is_posix(CUmemAllocationHandleType type) {
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

int descriptor_of(void* handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
}

// The pool's id in a descriptor; 0 where the descriptor is no pool's.
std::uint64_t pool_in(int fd, int device_count, Shareable* out = nullptr) {
  const auto file = read_shareable(fd, device_count, ShareableKind::kPool);
  const auto ticket = file ? read_ticket(fd, *file, TicketKind::kPool) : std::nullopt;
  if (ticket && out) *out = *file;
  return ticket ? ticket->pool : 0;
}

// Gives a pool its file, and with that its id; false when the host has no descriptor or no memory
// left.
bool have_file(Pool& pool) {
  if (pool.file()) return true;
  const int fd = create_shareable(kPage, pool.prop(), ShareableKind::kPool);
  if (fd < 0) return false;
  auto file = std::make_shared<Physical>(fd);
  std::uint64_t id = 0;
  IpcBytes ticket;
  if (!sys_random(&id, sizeof id) || id == 0 ||
      !issue_ticket(fd, TicketKind::kPool, kPage, id, ticket)) {
    return false;
  }
  pool.publish(id, std::move(file));
  return true;
}

/// The context in which a stream's work is done; null: no context.
const Context* context_of(const Emulator& e, CUstream handle) {
  const Stream* const stream = e.streams.find(handle);
  return stream ? stream->context : e.current_context();
}

// Makes new memory available: the caller may use the address at once, and the work that comes after
// the allocation in the stream may use the memory.
CUresult come(Emulator& e, Address address, CUstream stream) {
  if (!Queues::late() || Queues::inside()) return CUDA_SUCCESS;
  e.plain.find(address)->coming = true;
  return submit(e, stream, [address](Emulator& at) {
    if (PlainAllocation* const memory = at.plain.find(address)) memory->coming = false;
    return CUDA_SUCCESS;
  });
}

CUresult allocate(Emulator& e, CUdeviceptr* out, std::size_t size, Pool& pool, CUstream stream) {
  Context* context = e.current_context();
  if (e.no_context() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!Streams::is_default(stream)) {
    const Stream* found = e.streams.find(stream);
    if (!found) return e.streams.no_stream(stream);
    context = found->context;
  }
  if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0) return *out = 0, CUDA_SUCCESS;
  Address address = 0;
  const auto take = [&] {
    if (!pool.fits(size)) return CUDA_ERROR_OUT_OF_MEMORY;
    return pool.managed() ? e.allocate_managed(*context, size, &pool, &address)
                          : e.allocate_memory(context, size, pool.prop(), pool.handle(), &address);
  };
  CUresult result = take();
  if (result == CUDA_ERROR_OUT_OF_MEMORY && Queues::late() && !Queues::inside()) {
    // Waits for the context's work, because a queued free may make enough memory free. Another
    // thread may destroy the pool meanwhile.
    CUmemoryPool handle = Pools::handle_of(pool);
    result = wait_for(e, *context);
    if (!e.pools.find(handle)) return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) result = take();
  }
  if (result != CUDA_SUCCESS) return result;
  e.pools.took(pool.handle(), size);
  *out = address;
  return come(e, address, stream);
}

// Checks the properties of a pool of managed memory. The answers are the documented ones; none was
// measured, because the machines that record drivers must not use managed memory.
CUresult check_managed(const Emulator& e, const CUmemPoolProps& props) {
  constexpr int kConcurrent = CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
  const auto concurrent = e.profile.attribute(kConcurrent, e.device_count());
  if (concurrent.value_or(default_attribute(kConcurrent).value_or(0)) == 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
  if (props.maxSize != 0 || tail_of(props).usage != 0) return CUDA_ERROR_INVALID_VALUE;
  return e.pools.managed_place(props.location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

void find_pool(const Emulator& e, CUmemoryPool handle, Facts::Pool& facts) {
  const Pool* pool = e.pools.find(handle);
  const bool is_default = pool && pool->is_default();
  facts.is_default = is_default ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (is_default && pool->on_device()) {
    facts.default_device = device_of(pool->prop().location);
  }
}

CUresult perform(Emulator& e, const calls::MemPoolCreate& call, const Facts&, const Retired&) {
  if (!call.pool || !call.poolProps) return CUDA_ERROR_INVALID_VALUE;
  const CUmemPoolProps& props = *call.poolProps;
  CUmemAllocationProp prop{};
  prop.type = props.allocType;
  prop.requestedHandleTypes = props.handleTypes;
  prop.location = settled(props.location, e.model.platform());
  const PoolPropsTail tail = tail_of(props);
  prop.allocFlags.usage = tail.usage;
  prop.allocFlags.gpuDirectRDMACapable = tail.gpuDirectRDMACapable;
  const bool on_device = is_device(prop.location);
  const bool on_host = is_host(prop.location);
  if (static_cast<int>(prop.type) == Pool::kManaged) {
    if (const CUresult valid = check_managed(e, props); valid != CUDA_SUCCESS) return valid;
  } else {
    if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_NOT_SUPPORTED;
    if (!on_device && !on_host) return CUDA_ERROR_INVALID_VALUE;
    if (on_device && !e.valid_device(device_of(prop.location))) return CUDA_ERROR_INVALID_VALUE;
  }
  *call.pool = Pools::handle_of(e.pools.create(prop, props.maxSize));
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemPoolDestroy& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
  const Pool* pool = e.pools.find(call.pool);
  const auto of_pool = [&](const PlainAllocation& plain) {
    const Pool* from = e.pools.find(reinterpret_cast<CUmemoryPool>(plain.pool));
    return plain.imported && from && from->id() == pool->id();
  };
  const bool held = pool && e.plain.find_if(of_pool);
  facts.pool.held_elsewhere = held ? Facts::Answer::kYes : Facts::Answer::kNo;
}

CUresult perform(Emulator& e, const calls::MemPoolDestroy& call, const Facts&, const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!pool || pool->is_default()) return CUDA_ERROR_INVALID_VALUE;
  e.pools.destroy(*pool);
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemAllocFromPoolAsync& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemAllocFromPoolAsync& call, const Facts&,
                 const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!pool || pool->imported()) return CUDA_ERROR_INVALID_VALUE;
  if (call.dptr && call.bytesize == 0) return *call.dptr = 0, CUDA_SUCCESS;
  return allocate(e, call.dptr, call.bytesize, *pool, call.hStream);
}

void write_refused(const Emulator&, const calls::MemAllocFromPoolAsync& call, CUresult) {
  if (call.dptr) *call.dptr = 0;
}

void add_facts(const Emulator& e, const calls::MemAllocAsync& call, Facts& facts) {
  const Context* const context = context_of(e, call.hStream);
  if (!context) return;
  CUmemoryPool pool = Pools::handle_of(e.pools.current_of(context->device));
  find_pool(e, pool, facts.pool);
  facts.pool.current = reinterpret_cast<std::uintptr_t>(pool);
}

CUresult perform(Emulator& e, const calls::MemAllocAsync& call, const Facts&, const Retired&) {
  const Context* const context = context_of(e, call.hStream);
  if (!context) return e.no_context();
  Pool& pool = e.pools.current_of(context->device);
  return allocate(e, call.dptr, call.bytesize, pool, call.hStream);
}

void add_facts(const Emulator& e, const calls::MemPoolExportToShareableHandle& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolExportToShareableHandle& call, const Facts&,
                 const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!call.handle_out || !pool) return CUDA_ERROR_INVALID_VALUE;
  if (!is_posix(call.handleType)) return CUDA_ERROR_NOT_SUPPORTED;
  if (!have_file(*pool)) return CUDA_ERROR_OUT_OF_MEMORY;
  // The descriptor lacks FD_CLOEXEC, unlike an allocation's: pool/import-in-one-process.
  const int exported = dup(pool->file()->descriptor());
  if (exported < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(call.handle_out) = exported;
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemPoolImportFromShareableHandle& call,
               Facts& facts) {
  if (!is_posix(call.handleType)) return;
  const int fd = descriptor_of(call.handle);
  Shareable file;
  const bool valid = pool_in(fd, e.device_count(), &file) != 0;
  if (valid) facts.pool.location = file.prop.location;
  facts.sharing.descriptor_valid = valid ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (!valid && read_shareable(fd, e.device_count()))
    facts.sharing.descriptor_kind = Facts::Answer::kNo;
}

void write_refused(const Emulator&, const calls::MemPoolImportFromShareableHandle& call, CUresult) {
  if (call.pool_out && call.flags == 0 && call.handle) *call.pool_out = nullptr;
}

CUresult perform(Emulator& e, const calls::MemPoolImportFromShareableHandle& call, const Facts&,
                 const Retired&) {
  if (!call.pool_out) return CUDA_ERROR_INVALID_VALUE;
  if (!is_posix(call.handleType)) return CUDA_ERROR_NOT_SUPPORTED;
  Shareable file;
  const std::uint64_t id = pool_in(descriptor_of(call.handle), e.device_count(), &file);
  if (id == 0) return CUDA_ERROR_INVALID_VALUE;
  *call.pool_out = Pools::handle_of(e.pools.adopt(file.prop, id));
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemPoolExportPointer& call, Facts& facts) {
  const PlainAllocation* plain = e.plain.at(call.ptr);
  if (plain && plain->pool) {
    find_pool(e, reinterpret_cast<CUmemoryPool>(plain->pool), facts.pool);
  }
}

CUresult perform(Emulator& e, const calls::MemPoolExportPointer& call, const Facts&,
                 const Retired&) {
  auto* plain = e.plain.at(call.ptr);
  if (!call.shareData_out || !plain || !plain->pool) return CUDA_ERROR_INVALID_VALUE;
  Pool* pool = e.pools.find(reinterpret_cast<CUmemoryPool>(plain->pool));
  if (!pool || pool->imported()) return CUDA_ERROR_INVALID_VALUE;
  if (!have_file(*pool)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (plain->ticket == IpcBytes{}) {
    const int fd = plain->memory.descriptor();
    if (fd < 0 ||
        !issue_ticket(fd, TicketKind::kPoolPointer, plain->size, pool->id(), plain->ticket)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  std::memcpy(call.shareData_out, plain->ticket.data(), sizeof *call.shareData_out);
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemPoolImportPointer& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
  if (!call.shareData) return;
  const Followed followed =
      follow_ticket(ipc_bytes(*call.shareData), TicketKind::kPoolPointer, e.device_count());
  facts.pool.token = followed.token;
  if (followed.fd >= 0) sys_close(followed.fd);
  facts.pool.object_size = followed.ticket.size;
  if (followed.fd >= 0) facts.pool.location = followed.file.prop.location;
  const IpcBytes bytes = ipc_bytes(*call.shareData);
  const bool before = e.plain.find_if([&](const PlainAllocation& plain) {
    return plain.imported && plain.ticket == bytes && !is_device(plain.memory.prop().location);
  });
  const bool known = followed.fd >= 0 || followed.token == Facts::Token::kEnded;
  facts.pool.imported_before = before ? Facts::Answer::kYes : Facts::Answer::kNo;
  const Pool* pool = e.pools.find(call.pool);
  // The check can judge data only for a pool that can import it.
  const bool judged = pool && pool->imported();
  const bool of_pool = !judged || pool->id() == followed.ticket.pool;
  // The documentation does not forbid an import within one process.
  if (followed.fd >= 0) facts.pool.token = Facts::Token::kValid;
  if (known && !of_pool) facts.pool.token = Facts::Token::kForged;
}

CUresult perform(Emulator& e, const calls::MemPoolImportPointer& call, const Facts&,
                 const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!call.ptr_out || !call.shareData || !call.pool || (pool && !pool->imported())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const IpcBytes bytes = ipc_bytes(*call.shareData);
  // A second import returns an equal pointer, and one free ends both: x-pool/pointer-twice.
  const PlainAllocation* known = e.plain.find_if(
      [&](const PlainAllocation& plain) { return plain.imported && plain.ticket == bytes; });
  if (known) return *call.ptr_out = known->base, CUDA_SUCCESS;
  const Followed followed = follow_ticket(bytes, TicketKind::kPoolPointer, e.device_count());
  // The exporter has freed the memory, so no process shares it: a profile that accepts the import
  // gets new memory.
  if (followed.token == Facts::Token::kEnded && pool && followed.ticket.pool == pool->id()) {
    const CUresult result =
        allocate(e, call.ptr_out, followed.ticket.size, *pool, CU_STREAM_LEGACY);
    if (result != CUDA_SUCCESS) return result;
    PlainAllocation& own = *e.plain.find(*call.ptr_out);
    own.imported = true;
    own.ticket = bytes;
    return CUDA_SUCCESS;
  }
  if (followed.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  Physical memory(followed.fd);
  memory.describe(followed.file.size, followed.file.prop);
  if (pool && followed.ticket.pool != pool->id()) return CUDA_ERROR_INVALID_VALUE;
  Context* context = e.current_context();
  PlainAllocation* taken = e.adopt(context, followed.ticket.size, std::move(memory), bytes);
  if (!taken) return CUDA_ERROR_OUT_OF_MEMORY;
  // Memory of a destroyed pool, which a profile may accept, counts as a pool's memory as well.
  taken->pool = reinterpret_cast<std::uint64_t>(call.pool);
  taken->imported = true;
  e.pools.took(taken->pool, taken->size);
  *call.ptr_out = taken->base;
  return CUDA_SUCCESS;
}

void write_refused(const Emulator&, const calls::MemPoolImportPointer& call, CUresult) {
  if (call.ptr_out && call.pool && call.shareData) *call.ptr_out = 0;
}

void add_facts(const Emulator& e, const calls::MemPoolSetAccess& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemPoolSetAccess& call, const Facts&, const Retired&) {
  Pool* pool = e.pools.find(call.pool);
  if (!call.pool || (!call.map && call.count != 0)) return CUDA_ERROR_INVALID_VALUE;
  if (!pool) {  // the pool was destroyed: a profile may accept that, and an H200 still knows the
                // pool's location
    const bool own = std::any_of(call.map, call.map + call.count, [&](const CUmemAccessDesc& desc) {
      return is_device(desc.location) && desc.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE &&
             e.pools.lay_on(call.pool, device_of(desc.location));
    });
    return own ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < call.count; ++i) {
    const CUmemLocation& location = call.map[i].location;
    if (!is_device(location)) continue;  // the host always has access
    if (!e.valid_device(device_of(location))) return CUDA_ERROR_INVALID_VALUE;
    pool->set_access(device_of(location), static_cast<unsigned>(call.map[i].flags));
  }
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::DeviceSetMemPool& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::DeviceSetMemPool& call, const Facts&, const Retired&) {
  const Pool* pool = e.pools.find(call.pool);
  if (!call.pool || !e.valid_device(call.dev)) return CUDA_ERROR_INVALID_VALUE;
  // The model knows the locations of created pools, but not those of default pools.
  const bool local = pool && pool->on_device() && device_of(pool->prop().location) == call.dev;
  if (pool && pool->is_default() && !local) return CUDA_ERROR_INVALID_VALUE;
  if (pool) e.pools.set_current(call.dev, *pool);  // does nothing for a pool that was destroyed
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
