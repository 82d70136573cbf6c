// SPDX-License-Identifier: Apache-2.0
// Logical endpoints, fabric copies and cliques. Each test runs in a process of its own, because its
// profile is a newer driver's than the default one.
#include <cstring>
#include <fstream>

#include "api/location.h"
#include "emulator/share/process_testing.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::emulator::testing {
namespace {

using Id = CUlogicalEndpointId;
constexpr auto kFabricHandle = CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC;

template <class Call>
CUresult call(const Call& made) {
  return driver()(made);
}

// Starts a driver that has logical endpoints.
void begin(const char* profile = "documented") {
  setenv("CUVMM_PROFILE", profile, 1);
  initialise();
}

Id reserve_ids(std::uint32_t count = 1) {
  Id base = 0;
  CHILD_EXPECT(call(calls::LogicalEndpointIdReserve{&base, count}) == CUDA_SUCCESS);
  return base;
}

CUlogicalEndpointProp unicast(int device, unsigned types = 0) {
  CUlogicalEndpointProp prop{};
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_UNICAST;
  prop.unicast.device = device;
  prop.size = 2 * kGranule;
  prop.ipcHandleTypes = types;
  return prop;
}
CUlogicalEndpointProp team(unsigned devices, unsigned types = 0) {
  CUlogicalEndpointProp prop = unicast(0, types);
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
  prop.multicast.numDevices = devices;
  return prop;
}

CUresult create_endpoint(Id id, const CUlogicalEndpointProp& prop) {
  return call(calls::LogicalEndpointCreate{id, &prop});
}
CUresult add(Id id, int device) { return call(calls::LogicalEndpointAddDevice{id, device}); }
int query(Id id, std::uint32_t count = 1) {
  int status = -1;
  CHILD_EXPECT(call(calls::LogicalEndpointQuery{id, count, &status}) == CUDA_SUCCESS);
  return status;
}
CUresult bind(Id id, int device, CUmemGenericAllocationHandle memory, std::uint64_t offset = 0) {
  return call(calls::LogicalEndpointBindMem{id, device, offset, memory, 0, kGranule, 0});
}
CUresult unbind(Id id, int device, std::uint64_t offset = 0, std::uint64_t size = kGranule) {
  return call(calls::LogicalEndpointUnbind{id, device, offset, size});
}

/// Memory of a device that device 0 may read and write.
Mapped memory_of(int device, unsigned types = 0) {
  Mapped m{reserve(kGranule), create(kGranule, properties(device, types)), kGranule};
  CHILD_EXPECT(map(m.address, m.size, m.handle) == CUDA_SUCCESS);
  CHILD_EXPECT(set_access(m.address, m.size, access()) == CUDA_SUCCESS);
  return m;
}
void fill(CUdeviceptr address, unsigned char value) {
  CHILD_EXPECT(call(calls::MemsetD8{address, value, kGranule}) == CUDA_SUCCESS);
}

CUfabricCpyOperand pointer(CUdeviceptr address) {
  CUfabricCpyOperand operand{};
  operand.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  operand.op.ptr.ptr = address;
  return operand;
}
CUfabricCpyOperand endpoint(Id id, std::uint64_t offset = 0) {
  CUfabricCpyOperand operand{};
  operand.type = CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
  operand.op.le.id = id;
  operand.op.le.offset = offset;
  return operand;
}
CUresult copy(const CUfabricCpyOperand& src, const CUfabricCpyOperand& dst, std::size_t size = 64,
              CUstream stream = CU_STREAM_PER_THREAD) {
  CUDA_FABRIC_COPY_BATCH_OP op{};
  op.src = src;
  op.dst = dst;
  op.size = size;
  return call(calls::FabricCpyBatchAsync{1, &op, 0, stream});
}

class EndpointProcess : public Processes {};

TEST_F(EndpointProcess, ADriverOfBeforeThemHasNone) {
  run([](int) {
    begin("h200-580.159.04");
    Id id = 0;
    CHILD_EXPECT(call(calls::LogicalEndpointIdReserve{&id, 1}) == CUDA_ERROR_NOT_SUPPORTED);
    CHILD_EXPECT(call(calls::LogicalEndpointDestroy{1}) == CUDA_ERROR_NOT_SUPPORTED);
    CHILD_EXPECT(call(calls::FabricCpyBatchAsync{}) == CUDA_ERROR_NOT_SUPPORTED);
    std::size_t count = 0;
    CHILD_EXPECT(call(calls::DeviceGetCliqueCount{&count, 0}) == CUDA_ERROR_NOT_SUPPORTED);
    using Ask = CUresult(const char*, void**, int, unsigned long long, int*);
    void* function = &id;
    CHILD_EXPECT(symbol<Ask>("cuGetProcAddress_v2")("cuLogicalEndpointCreate", &function, 13050, 0,
                                                    nullptr) == CUDA_ERROR_NOT_FOUND);
  });
}

TEST_F(EndpointProcess, TheDocumentedDriverHandsThemOut) {
  run([](int) {
    begin();
    using Ask = CUresult(const char*, void**, int, unsigned long long, int*);
    const auto ask = [](const char* name, int version, unsigned long long flags = 0) {
      void* function = nullptr;
      symbol<Ask>("cuGetProcAddress_v2")(name, &function, version, flags, nullptr);
      return function;
    };
    CHILD_EXPECT(ask("cuLogicalEndpointCreate", 13030) == symbol<void>("cuLogicalEndpointCreate"));
    CHILD_EXPECT(ask("cuLogicalEndpointCreate", 13020) == nullptr);
    CHILD_EXPECT(ask("cuDeviceGetCliqueInfo", 13040) == symbol<void>("cuDeviceGetCliqueInfo"));
    CHILD_EXPECT(ask("cuFabricCpyBatchAsync", 13050) == symbol<void>("cuFabricCpyBatchAsync"));
    CHILD_EXPECT(ask("cuFabricCpyBatchAsync", 13050, 2) ==
                 symbol<void>("cuFabricCpyBatchAsync_ptsz"));
  });
}

TEST_F(EndpointProcess, IdsAreReservedAndReleasedInRanges) {
  run([](int) {
    begin();
    const Id first = reserve_ids(4);
    const Id second = reserve_ids(2);
    CHILD_EXPECT(second >= first + 4 || second + 2 <= first);
    CHILD_EXPECT(create_endpoint(first + 1, unicast(0)) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::LogicalEndpointIdRelease{first, 4}) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(call(calls::LogicalEndpointDestroy{first + 1}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::LogicalEndpointIdRelease{first, 4}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::LogicalEndpointIdRelease{first, 4}) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(create_endpoint(first, unicast(0)) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(reserve_ids(4) == first);
  });
}

TEST_F(EndpointProcess, TheLimitsAreThoseOfTheProfile) {
  run([](int) {
    begin();
    cuuint64_t alignment = 0, most = 0;
    CUlogicalEndpointProp prop = unicast(0);
    CHILD_EXPECT(call(calls::LogicalEndpointGetLimits{&alignment, &most, &prop}) == CUDA_SUCCESS);
    CHILD_EXPECT(alignment == kGranule && most == std::uint64_t{1} << 40);
    const Id id = reserve_ids();
    prop.size = most + alignment;
    CHILD_EXPECT(create_endpoint(id, prop) == CUDA_ERROR_INVALID_VALUE);
    prop.size = most;
    CHILD_EXPECT(create_endpoint(id, prop) == CUDA_SUCCESS);
  });
}

TEST_F(EndpointProcess, CopiesReachTheMemoryOfAUnicastEndpoint) {
  run([](int) {
    begin();
    const Id id = reserve_ids();
    CHILD_EXPECT(create_endpoint(id, unicast(1)) == CUDA_SUCCESS);
    const Mapped far = memory_of(1);
    const Mapped near = memory_of(0);
    // A bind needs an earlier query of the endpoint.
    CHILD_EXPECT(bind(id, 1, far.handle) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(query(id) == 1);
    CHILD_EXPECT(bind(id, 1, far.handle) == CUDA_SUCCESS);
    fill(far.address, 0);
    fill(near.address, 7);
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id, 100)) == CUDA_SUCCESS);
    CHILD_EXPECT(byte_at(far.address + 99) == 0 && byte_at(far.address + 100) == 7);
    CHILD_EXPECT(byte_at(far.address + 163) == 7 && byte_at(far.address + 164) == 0);
    fill(far.address, 9);
    CHILD_EXPECT(copy(endpoint(id), pointer(near.address + 1)) == CUDA_SUCCESS);
    CHILD_EXPECT(byte_at(near.address) == 7 && byte_at(near.address + 1) == 9);
    // The second granule has no binding, and after the unbind the first has none either.
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id, kGranule)) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(unbind(id, 1) == CUDA_SUCCESS);
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(unbind(id, 1) == CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(EndpointProcess, ACopyToATeamReachesEachDevice) {
  run([](int) {
    begin();
    const Id id = reserve_ids();
    CHILD_EXPECT(create_endpoint(id, team(2)) == CUDA_SUCCESS);
    CHILD_EXPECT(query(id) == 0);
    const Mapped members[] = {memory_of(0), memory_of(1)};
    for (const int device : {0, 1}) CHILD_EXPECT(add(id, device) == CUDA_SUCCESS);
    CHILD_EXPECT(add(id, 2) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(query(id) == 1);
    const Mapped near = memory_of(0);
    fill(near.address, 5);
    CHILD_EXPECT(bind(id, 0, members[0].handle) == CUDA_SUCCESS);
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind(id, 1, members[1].handle) == CUDA_SUCCESS);
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_SUCCESS);
    for (const Mapped& m : members) CHILD_EXPECT(byte_at(m.address) == 5);
    CHILD_EXPECT(copy(endpoint(id), pointer(near.address)) == CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(EndpointProcess, MemoryOfAPoolIsBoundByItsAddress) {
  run([](int) {
    begin();
    const Id id = reserve_ids();
    CHILD_EXPECT(create_endpoint(id, unicast(1)) == CUDA_SUCCESS && query(id) == 1);
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = properties(1).location;
    CUmemoryPool pool = nullptr;
    CHILD_EXPECT(call(calls::MemPoolCreate{&pool, &props}) == CUDA_SUCCESS);
    CUdeviceptr far = 0, plain = 0;
    CHILD_EXPECT(call(calls::MemAllocFromPoolAsync{&far, 2 * kGranule, pool}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::MemAlloc{&plain, kGranule}) == CUDA_SUCCESS);
    const auto bind_address = [&](CUdeviceptr at, std::size_t size = kGranule) {
      return call(calls::LogicalEndpointBindAddr{id, 1, 0, reinterpret_cast<void*>(at), size, 0});
    };
    CHILD_EXPECT(bind_address(plain) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind_address(far + kGranule, 2 * kGranule) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind_address(far + kGranule) == CUDA_SUCCESS);
    const Mapped near = memory_of(0);
    fill(near.address, 7);
    CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_SUCCESS);
    const CUmemAccessDesc desc = access();
    CHILD_EXPECT(call(calls::MemPoolSetAccess{pool, &desc, 1}) == CUDA_SUCCESS);
    CHILD_EXPECT(byte_at(far + kGranule) == 7);
  });
}

TEST_F(EndpointProcess, ACopyAsksForTheDevicesAccessAndForMemory) {
  run([](int) {
    begin();
    Mapped host{reserve(kGranule), 0, kGranule};
    CUmemAllocationProp prop = properties(0);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    host.handle = create(kGranule, prop);
    CHILD_EXPECT(map(host.address, host.size, host.handle) == CUDA_SUCCESS);
    CUmemAccessDesc of_host = access();
    of_host.location = make_location(CU_MEM_LOCATION_TYPE_HOST, 0);
    of_host.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CHILD_EXPECT(set_access(host.address, host.size, of_host) == CUDA_SUCCESS);
    CHILD_EXPECT(copy(pointer(host.address), pointer(host.address + 64)) ==
                 CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(set_access(host.address, host.size, access()) == CUDA_SUCCESS);
    CHILD_EXPECT(copy(pointer(host.address), pointer(host.address + 64)) == CUDA_SUCCESS);
    // Memory of the program, and an address without memory.
    char bytes[128] = {1};
    const auto own = reinterpret_cast<CUdeviceptr>(bytes);
    CHILD_EXPECT(copy(pointer(own), pointer(own + 64)) == CUDA_SUCCESS && bytes[64] == 1);
    CHILD_EXPECT(copy(pointer(4096), pointer(own)) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(copy(pointer(8), pointer(4096)) == CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(EndpointProcess, ABatchIsAllOrNothing) {
  run([](int) {
    begin();
    const Mapped a = memory_of(0), b = memory_of(0);
    fill(a.address, 1);
    fill(b.address, 2);
    CUDA_FABRIC_COPY_BATCH_OP ops[2] = {};
    ops[0].src = pointer(a.address);
    ops[0].dst = pointer(b.address);
    ops[0].size = ops[1].size = 64;
    ops[1].src = pointer(a.address);
    ops[1].dst = pointer(b.address + kGranule);
    const calls::FabricCpyBatchAsync batch{2, ops, 0, CU_STREAM_PER_THREAD};
    CHILD_EXPECT(call(batch) != CUDA_SUCCESS);
    CHILD_EXPECT(byte_at(b.address) == 2);
    ops[1].dst = pointer(b.address + 128);
    CHILD_EXPECT(call(batch) == CUDA_SUCCESS);
    CHILD_EXPECT(byte_at(b.address) == 1 && byte_at(b.address + 64) == 2);
    CHILD_EXPECT(byte_at(b.address + 128) == 1);
  });
}

TEST_F(EndpointProcess, TheNullStreamIsLegacyInOneFormAlone) {
  run([](int) {
    begin();
    const Mapped a = memory_of(0), b = memory_of(0);
    CHILD_EXPECT(copy(pointer(a.address), pointer(b.address), 64, nullptr) ==
                 CUDA_ERROR_INVALID_VALUE);
    CUDA_FABRIC_COPY_BATCH_OP op{};
    op.src = pointer(a.address);
    op.dst = pointer(b.address);
    op.size = 64;
    using Copy = CUresult(std::size_t, CUDA_FABRIC_COPY_BATCH_OP*, unsigned long long, CUstream);
    Copy* const per_thread = symbol<Copy>("cuFabricCpyBatchAsync_ptsz");
    CHILD_EXPECT(per_thread(1, &op, 0, nullptr) == CUDA_SUCCESS);
    CHILD_EXPECT(per_thread(1, &op, 0, CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(EndpointProcess, AnEndpointTravelsToAnotherProcess) {
  run_pair(
      [](int socket) {
        begin();
        const Id id = reserve_ids();
        CHILD_EXPECT(create_endpoint(id, unicast(1, kFabricHandle)) == CUDA_SUCCESS);
        const Mapped memory = memory_of(1);
        CHILD_EXPECT(query(id) == 1);
        CHILD_EXPECT(bind(id, 1, memory.handle) == CUDA_SUCCESS);
        CUlogicalEndpointFabricHandle handle{}, again{};
        CHILD_EXPECT(call(calls::LogicalEndpointExport{&handle, id, kFabricHandle}) ==
                     CUDA_SUCCESS);
        CHILD_EXPECT(call(calls::LogicalEndpointExport{&again, id, kFabricHandle}) == CUDA_SUCCESS);
        CHILD_EXPECT(std::memcmp(&handle, &again, sizeof handle) == 0);
        send(socket, handle);
        hear(socket);
        CHILD_EXPECT(byte_at(memory.address) == 42);
        CHILD_EXPECT(call(calls::LogicalEndpointDestroy{id}) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
      },
      [](int socket) {
        begin();
        reserve_ids(3);
        const Id id = reserve_ids();
        auto handle = receive<CUlogicalEndpointFabricHandle>(socket);
        CHILD_EXPECT(call(calls::LogicalEndpointImport{id, &handle, kFabricHandle}) ==
                     CUDA_SUCCESS);
        CHILD_EXPECT(query(id) == 1);
        const Mapped near = memory_of(0);
        fill(near.address, 42);
        CHILD_EXPECT(bind(id, 0, near.handle) == CUDA_ERROR_INVALID_VALUE);  // only the owner binds
        CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
        // The bindings of the process that made the endpoint have ended, and so has the endpoint's
        // handle.
        CHILD_EXPECT(copy(pointer(near.address), endpoint(id)) == CUDA_ERROR_INVALID_VALUE);
        const Id other = reserve_ids();
        CHILD_EXPECT(call(calls::LogicalEndpointImport{other, &handle, kFabricHandle}) ==
                     CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(call(calls::LogicalEndpointDestroy{id}) == CUDA_SUCCESS);
        say(socket);
      });
}

TEST_F(EndpointProcess, ATeamOfTwoProcesses) {
  const auto rank = [](int socket, int self) {
    begin();
    use_device(self);
    const Id id = reserve_ids();
    if (self == 0) {
      CHILD_EXPECT(create_endpoint(id, team(2, kFabricHandle)) == CUDA_SUCCESS);
      CUlogicalEndpointFabricHandle handle{};
      CHILD_EXPECT(call(calls::LogicalEndpointExport{&handle, id, kFabricHandle}) == CUDA_SUCCESS);
      send(socket, handle);
    } else {
      const auto handle = receive<CUlogicalEndpointFabricHandle>(socket);
      CHILD_EXPECT(call(calls::LogicalEndpointImport{id, &handle, kFabricHandle}) == CUDA_SUCCESS);
    }
    CHILD_EXPECT(add(id, self) == CUDA_SUCCESS);
    say(socket);
    hear(socket);
    CHILD_EXPECT(query(id) == 1);
    Mapped own{reserve(kGranule), create(kGranule, properties(self, 1)), kGranule};
    CHILD_EXPECT(map(own.address, own.size, own.handle) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(own.address, own.size, access(self)) == CUDA_SUCCESS);
    const CUmemGenericAllocationHandle closed = create(kGranule, properties(self));
    CHILD_EXPECT(bind(id, self, closed, kGranule) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind(id, self, own.handle) == CUDA_SUCCESS);
    Mapped from{reserve(kGranule), create(kGranule, properties(self)), kGranule};
    CHILD_EXPECT(map(from.address, from.size, from.handle) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(from.address, from.size, access(self)) == CUDA_SUCCESS);
    fill(from.address, static_cast<unsigned char>(self + 1));
    say(socket);
    hear(socket);
    CHILD_EXPECT(copy(pointer(from.address), endpoint(id, static_cast<unsigned>(self) * 64u)) ==
                 CUDA_SUCCESS);
    say(socket);
    hear(socket);
    CHILD_EXPECT(byte_at(own.address) == 1 && byte_at(own.address + 64) == 2);
    say(socket);
    hear(socket);
  };
  run_pair([&](int socket) { rank(socket, 0); }, [&](int socket) { rank(socket, 1); });
}

TEST_F(EndpointProcess, BytesThatNobodyExportedNameNothing) {
  run([](int) {
    begin();
    const Id id = reserve_ids(2);
    CUlogicalEndpointFabricHandle handle{};
    CHILD_EXPECT(call(calls::LogicalEndpointImport{id, &handle, kFabricHandle}) ==
                 CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(create_endpoint(id + 1, unicast(0, kFabricHandle)) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::LogicalEndpointExport{&handle, id + 1, kFabricHandle}) ==
                 CUDA_SUCCESS);
    handle.data[60] ^= 1;
    CHILD_EXPECT(call(calls::LogicalEndpointImport{id, &handle, kFabricHandle}) ==
                 CUDA_ERROR_INVALID_VALUE);
    handle.data[60] ^= 1;
    CHILD_EXPECT(call(calls::LogicalEndpointImport{id, &handle, kFabricHandle}) == CUDA_SUCCESS);
  });
}

// Writes a profile that `change` changed; returns its file.
template <class Change>
std::string profile_with(Change change) {
  Profile profile = load_profile("documented").profile;
  change(profile);
  std::string path = ::testing::TempDir() + "/cuvmm-endpoint-" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << format_profile(profile);
  return path;
}

TEST_F(EndpointProcess, CliquesAreToldAndHeld) {
  const std::string path = profile_with([](Profile& p) { p.clique_devices = 2; });
  run([&](int) {
    begin(path.c_str());
    std::size_t count = 0;
    CHILD_EXPECT(call(calls::DeviceGetCliqueCount{&count, 2}) == CUDA_SUCCESS && count == 4);
    CUcliqueInfo info[4] = {};
    std::size_t some = 3;
    CHILD_EXPECT(call(calls::DeviceGetCliqueInfo{info, &some, 2}) == CUDA_SUCCESS && some == 3);
    CHILD_EXPECT(info[2].id == 1 && info[2].type == 2 && info[3].type == 0);
    CHILD_EXPECT(call(calls::DeviceGetCliqueInfo{info, &some, 99}) == CUDA_ERROR_INVALID_VALUE);
    CUuuid a{}, b{};
    CHILD_EXPECT(call(calls::DeviceGetFabricClusterUuid{&a, 0}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::DeviceGetFabricClusterUuid{&b, 3}) == CUDA_SUCCESS);
    CHILD_EXPECT(std::memcmp(&a, &b, sizeof a) == 0 && a.bytes[0] != 0);
    const Id id = reserve_ids();
    CHILD_EXPECT(create_endpoint(id, team(2)) == CUDA_SUCCESS);
    CHILD_EXPECT(add(id, 0) == CUDA_SUCCESS);
    CHILD_EXPECT(add(id, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHILD_EXPECT(add(id, 1) == CUDA_SUCCESS);
    CUmulticastObjectProp prop{};
    prop.numDevices = 2;
    prop.size = kGranule;
    CUmemGenericAllocationHandle object = 0;
    CHILD_EXPECT(call(calls::MulticastCreate{&object, &prop}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::MulticastAddDevice{object, 0}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::MulticastAddDevice{object, 3}) == CUDA_ERROR_INVALID_DEVICE);
    CHILD_EXPECT(call(calls::MulticastAddDevice{object, 1}) == CUDA_SUCCESS);
  });
  unlink(path.c_str());
}

TEST_F(EndpointProcess, NewerHardwareBindsAtMultiplesOf256Bytes) {
  const std::string path = profile_with([](Profile& p) {
    p.attributes[75] = 10;
    p.attributes[76] = 7;
    p.multicast_unaligned_binds = 1;
  });
  run([&](int) {
    begin(path.c_str());
    CUmulticastObjectProp prop{};
    prop.numDevices = 1;
    prop.size = 8 * kGranule;
    CUmemGenericAllocationHandle object = 0;
    CHILD_EXPECT(call(calls::MulticastCreate{&object, &prop}) == CUDA_SUCCESS);
    CHILD_EXPECT(call(calls::MulticastAddDevice{object, 0}) == CUDA_SUCCESS);
    const auto memory = create(4 * kGranule, properties(0));
    const auto bind_at = [&](std::size_t offset, std::size_t memory_offset) {
      return call(calls::MulticastBindMem{object, offset, memory, memory_offset, 2 * kGranule, 0});
    };
    CHILD_EXPECT(bind_at(0, 128) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind_at(6 * kGranule, 256) == CUDA_ERROR_INVALID_VALUE);  // no granule follows
    CHILD_EXPECT(bind_at(0, 256) == CUDA_SUCCESS);
    // The granule that the last binding reserves.
    CHILD_EXPECT(bind_at(2 * kGranule, 0) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(bind_at(3 * kGranule, 512) == kErrorMulticastResourceFull);
    CHILD_EXPECT(bind_at(3 * kGranule, 0) == CUDA_SUCCESS);
  });
  unlink(path.c_str());
}

TEST_F(EndpointProcess, AnEndpointIsNoMulticastObject) {
  run([](int) {
    begin();
    const Id id = reserve_ids();
    CHILD_EXPECT(create_endpoint(id, team(1, kFabricHandle)) == CUDA_SUCCESS);
    // The file of the endpoint is among the descriptors of this process.
    for (int fd = 3; fd < 64; ++fd) {
      CUmemGenericAllocationHandle handle = 0;
      CHILD_EXPECT(call(calls::MemImportFromShareableHandle{
                       &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != CUDA_SUCCESS);
    }
  });
}

}  // namespace
}  // namespace cuvmm::emulator::testing
