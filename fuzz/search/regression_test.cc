// SPDX-License-Identifier: Apache-2.0
// Replays the corpus, and programs that disagreed once, without and with the shim.
#include "fuzz/generate/generator.h"
#include "fuzz/search/testing.h"
#include "fuzz/search/testing_machine.h"
#include "program/c/c_source.h"

#ifdef __clang__
// The leak check at exit of clang 14 crashes on a library with thread-locals that was opened late.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace cuvmm::fuzz {

using program::parse_program;
using program::write_c;
namespace {

TEST(Corpus, AgreesBareAndUnderTheShim) {
  const auto files = corpus("one-process");
  EXPECT_GE(files.size(), 20u);
  for (const auto& path : files) EXPECT_EQ(disagreement(read(path)), "") << path;
}

TEST(Corpus, AnswersAsItSays) {
  for (const auto& path : corpus("one-process")) {
    const std::string text = read(path);
    const Ops ops = from_text(text).ops;
    EXPECT_EQ(to_text(ops, notes_of(emulated().run(ops))), text) << path;
  }
}

TEST(Corpus, BreaksEveryRuleThatCanBePlanted) {
  Statistics statistics;
  for (const auto& path : corpus("one-process")) {
    const TextOps program = from_text(read(path));
    EXPECT_EQ(program.error, "") << path;
    statistics.add(emulated().run(program.ops));
  }
  for (const auto rules : {plantable(), plantable_further()}) {
    for (const Rule rule : rules) {
      EXPECT_NE(statistics.by_rule[static_cast<std::size_t>(rule)], 0u) << info(rule).id;
    }
  }
}

// docs/fuzzing.md promises a C form for each program; the writer's own tests compile C.
TEST(Corpus, EachProgramOfOneThreadHasAFormInC) {
  for (const auto& path : corpus("one-process")) {
    const std::string text = read(path);
    if (text.find("@t") != std::string::npos) continue;
    const std::string error = write_c(parse_program(text).program, path.string()).error;
    if (error.find("it is not in every <cuda.h>") != std::string::npos) continue;
    EXPECT_EQ(error, "") << path;
  }
}

// Programs that disagreed once, as the shrinker left them.

TEST(FuzzRegression, AnImportHasTheHandleTypesOfItsMemorysCreation) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(4M)
h3 = cuMemCreate(2M, device=0, handle_types=posix_fd)
cuMemMap(r1+2M, 2M, h3)
d1 = cuMemExportToShareableHandle(h3, posix_fd)
h4 = cuMemImportFromShareableHandle(d1, posix_fd)
cuMemMap(r1, 2M, h4)
cuMemGetHandleForAddressRange(r1, 4M, dma_buf)
)"),
            "");
}

TEST(FuzzRegression, TheShimSeesACopyToAMappingsTailOutsideEveryReservation) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r4 = cuMemAddressReserve(2M)
r1 = cuMemAddressReserve(2M)
h3 = cuMemCreate(6M, device=0)
cuMemMap(r1, 6M, h3)
cuMemcpyHtoD(r1+2M, host(1, fill=0), 1)
)"),
            "");
}

// A search with failing driver calls found that the shim took an import for a multicast object when
// the driver could not describe it.
TEST(FuzzRegression, AnImportThatIsNotDescribedForLackOfMemoryIsMemory) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)
d1 = cuMemExportToShareableHandle(h1, posix_fd)
h2 = cuMemImportFromShareableHandle(d1, posix_fd)
r1 = cuMemAddressReserve(2M)
cuMemMap(r1, 2M, h2)
cuMemSetAccess(r1, 2M, [host:none])
)"),
            "");
}

// The shim forgot how large an export was once its allocation's handle was released.
TEST(FuzzRegression, AnExportsSizeOutlivesItsHandle) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h5 = cuMemCreate(2M, device=0, handle_types=posix_fd)
d2 = cuMemExportToShareableHandle(h5, posix_fd)
cuMemRelease(h5)
x2 = cuImportExternalMemory({type=opaque_fd, fd=d2, size=4M})
)"),
            "");
}

// The shim took a mapped buffer for an address at which nothing is mapped.
TEST(FuzzRegression, ABuffersAccessMayBeAskedFor) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h2 = cuMemCreate(2M, device=0, handle_types=posix_fd)
d1 = cuMemExportToShareableHandle(h2, posix_fd)
x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})
r6 = cuExternalMemoryGetMappedBuffer(x1, {offset=0, size=2M})
cuMemGetAccess(device0, r6)
)"),
            "");
}

// The emulator made the default pool of one device the current one of another.
TEST(FuzzRegression, ADefaultPoolLiesOnItsOwnDevice) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuDeviceGetDefaultMemPool(1)
cuDeviceSetMemPool(0, o2)
)"),
            "");
}

// The shim did not ask whether memory is a default pool's.
TEST(FuzzRegression, MemoryOfADefaultPoolCannotBeShared) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o3 = cuDeviceGetDefaultMemPool(0)
r7 = cuMemAllocFromPoolAsync(2M, o3)
s1 = cuMemPoolExportPointer(r7)
)"),
            "");
}

// The shim was sure that no memory lies where a reservation was; memory of cuMemAlloc may.
TEST(FuzzRegression, MemoryWhereAReservationWasMayBeAskedFor) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(12M)
cuMemAddressFree(r1, 12M)
r4 = cuMemAlloc(6M)
cuMemGetAccess(device0, r1)
)"),
            "");
}

// A driver also closes a descriptor that it refuses; the shim took the number for the program's.
TEST(FuzzRegression, ARefusedDescriptorsNumberIsTheDrivers) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
d1 = cuMemPoolExportToShareableHandle(o1, posix_fd)
h2 = cuMemCreate(2M, device=0, handle_types=posix_fd)
x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})
d3 = cuMemExportToShareableHandle(h2, posix_fd)
o4 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
)"),
            "");
}

// In another process, a pool's pointer stands for freed memory.
TEST(FuzzRegression, APoolsPointerIsNoIpcHandle) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
r3 = cuMemAllocFromPoolAsync(2M, o1)
d1 = cuMemPoolExportToShareableHandle(o1, posix_fd)
s1 = cuMemPoolExportPointer(r3)
r9 = cuIpcOpenMemHandle(s1, 1)
)"),
            "");
}

// Behind a hole the driver does not check whether a multicast object has the named device.
TEST(FuzzRegression, BehindAHoleNobodyLooksForTheTeam) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h2 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h2, 1)
h3 = cuMulticastCreate({numDevices=2, size=2M})
cuMulticastAddDevice(h3, 1)
cuMulticastAddDevice(h3, 0)
r4 = cuMemAddressReserve(6M)
cuMemMap(r4, 2M, h3)
cuMemMap(r4+4M, 2M, h2)
cuMemSetAccess(r4, 6M, [device0:r])
)"),
            "");
}

// The driver decides whether a fill may run from a mapping into memory of cuMemAlloc.
TEST(FuzzRegression, AFillAcrossWhereTwoObjectsMeetMayBeRefused) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r2 = cuMemAddressReserve(14M)
r3 = cuMemAlloc(4M)
cuMemAddressFree(r2, 14M)
r4 = cuMemAddressReserve(10M)
r2 = cuMemAddressReserve(4M)
h6 = cuMemCreate(2M, device=0)
cuMemMap(r2+2M, 2M, h6)
cuMemSetAccess(r2+2M, 2M, [device0:rw])
cuMemsetD8(r2+4194303, 0, 3)
)"),
            "");
}

// After a refused host location, memory and teams had different access.
TEST(FuzzRegression, ARefusedHostLocationLeavesWhatCameBeforeItOnATeamToo) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(4M)
h3 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h3, 2)
cuMemMap(r1+2M, 2M, h3)
cuMemSetAccess(r1+2M, 2M, [device2:r, host_numa0:rw])
cuMemGetAccess(device2, r1+2M)
cuMemSetAccess(r1+2M, 2M, [host:none, device2:rw])
cuMemGetAccess(device2, r1+2M)
)"),
            "");
}

// The emulator took a pointer imported into a destroyed pool for memory of cuMemAlloc.
TEST(FuzzRegression, WhatADestroyedPoolImportedIsNoPlainMemory) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o2 = cuMemPoolCreate({allocType=pinned, location=device0})
o3 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
r3 = cuMemAllocFromPoolAsync(2M, o3)
d1 = cuMemPoolExportToShareableHandle(o3, posix_fd)
cuMemPoolDestroy(o2)
s1 = cuMemPoolExportPointer(r3)
r4 = cuMemPoolImportPointer(o2, s1)
s1 = cuIpcGetMemHandle(r4)
)"),
            "");
}

// The emulator checked the team of only the first multicast object in a range.
TEST(FuzzRegression, AccessToSeveralTeamsIsForWhoIsInAll) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h3 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h3, 0)
r4 = cuMemAddressReserve(6M)
cuMemMap(r4+2M, 2M, h3)
h5 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h5, 1)
cuMemMap(r4+4M, 2M, h5)
cuMemSetAccess(r4+2M, 4M, [device0:r])
)"),
            "");
}

// The shim thought that the driver owned a number that a pool's export had brought back.
TEST(FuzzRegression, APoolsDescriptorIsNotTheOneThatTheDriverTook) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)
o4 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
d1 = cuMemExportToShareableHandle(h1, posix_fd)
d2 = cuMemPoolExportToShareableHandle(o4, posix_fd)
x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})
d3 = cuMemPoolExportToShareableHandle(o4, posix_fd)
h8 = cuMemImportFromShareableHandle(d3, posix_fd)
)"),
            "");
}

TEST(FuzzRegression, TilePoolMemoryOfTheHostMayBeLargerThanADevice) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h6 = cuMemCreate(128M, host, usage=255)
)"),
            "");
}

// The shim does not know the size of an import.
TEST(FuzzRegression, HowMuchOfAnImportIsBoundIsTheDriversToRefuse) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, device=1, handle_types=posix_fd)
h2 = cuMulticastCreate({numDevices=1, size=4M})
d1 = cuMemExportToShareableHandle(h1, posix_fd)
cuMulticastAddDevice(h2, 1)
h4 = cuMemImportFromShareableHandle(d1, posix_fd)
cuMulticastBindMem(h2, 0, h4, 0, 4M)
)"),
            "");
}

// No document says how a driver refuses a multicast object in place of a pool.
TEST(FuzzRegression, ATeamIsNoPool) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h3 = cuMulticastCreate({numDevices=1, size=2M, handleTypes=posix_fd})
d3 = cuMemExportToShareableHandle(h3, posix_fd)
o5 = cuMemPoolImportFromShareableHandle(d3, posix_fd)
)"),
            "");
}

// The emulator imported freed memory into any pool, not only into its own.
TEST(FuzzRegression, FreedMemoryOfAnotherPoolIsNotImported) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
r2 = cuMemAllocFromPoolAsync(2M, o1)
d3 = cuMemPoolExportToShareableHandle(o1, posix_fd)
o2 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
s1 = cuMemPoolExportPointer(r2)
d2 = cuMemPoolExportToShareableHandle(o2, posix_fd)
cuMemFree(r2)
o3 = cuMemPoolImportFromShareableHandle(d2, posix_fd)
r8 = cuMemPoolImportPointer(o3, s1)
)"),
            "");
}

// Where the driver could not describe an import, the shim was sure that it does not lie on a host.
TEST(FuzzRegression, AnImportThatIsNotDescribedMayLieOnTheHost) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMemCreate(2M, host_numa=0, handle_types=posix_fd)
d1 = cuMemExportToShareableHandle(h1, posix_fd)
h2 = cuMemImportFromShareableHandle(d1, posix_fd)
r1 = cuMemAddressReserve(2M)
cuMemMap(r1, 2M, h2)
cuMemSetAccess(r1, 2M, [host:r])
b1 = host(1, fill=0xcd)
cuMemcpyDtoH(b1, r1, 1)
)"),
            "");
}

// The shim looks at the begin of a copy; the driver's layout decides what lies behind that object.
TEST(FuzzRegression, ACopyThatRunsOnIntoAnEndedBufferMayBeRefusedInSilence) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(2M)
h2 = cuMemCreate(2M, device=0, handle_types=posix_fd)
o1 = cuMemPoolCreate({allocType=pinned, location=device0})
r3 = cuMemAllocFromPoolAsync(4K, o1)
r4 = cuMemAllocFromPoolAsync(6M, o1)
d5 = cuMemExportToShareableHandle(h2, posix_fd)
x2 = cuImportExternalMemory({type=opaque_fd, fd=d5, size=2M})
r6 = cuExternalMemoryGetMappedBuffer(x2, {offset=0, size=2M})
cuDestroyExternalMemory(x2)
cuMemcpyHtoD(r3+8388592, host(19, fill=0), 19)
)"),
            "");
}

TEST(FuzzRegression, ATeamsHandleOfATypeThatTheSystemLacksMayBeRefused) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=4M, handleTypes=posix_fd|win32_kmt})
cuMulticastAddDevice(h1, 0)
d1 = cuMemExportToShareableHandle(h1, win32_kmt)
)"),
            "");
}

TEST(FuzzRegression, ATeamsFabricHandleMayBeRefused) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=2M, handleTypes=win32_kmt|fabric})
d1 = cuMemExportToShareableHandle(h1, fabric)
)"),
            "");
}

// A part of a multicast object may be mapped, and an address then names that part.
TEST(FuzzRegression, AMulticastBindByAddressEndsWithTheMapping) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=6M})
cuMulticastAddDevice(h1, 0)
r1 = cuMemAddressReserve(2M)
cuMemMap(r1, 2M, h1)
cuMulticastBindAddr(h1, 0, r1, 2052K)
)"),
            "");
}

TEST(FuzzRegression, AnAddressInsideMemoryOfAnotherDeviceIsNoBase) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAlloc(2M)
context(1)
i1 = cuIpcGetMemHandle(r1+4K)
)"),
            "");
}

TEST(FuzzRegression, MemoryOfAnImportedPoolIsKnownByAllItsBytes) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device1})
r1 = cuMemAllocFromPoolAsync(2M, o1)
d1 = cuMemPoolExportToShareableHandle(o1, posix_fd)
s1 = cuMemPoolExportPointer(r1)
o2 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
r2 = cuMemPoolImportPointer(o2, s1)
b1 = host(4)
cuMemcpyDtoH(b1, r2+4K, 4)
)"),
            "");
}

// A pool that is refused for FABRIC handles says nothing about its node.
TEST(FuzzRegression, FabricHandlesAreTheReasonNotTheNode) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=fabric, location=host_numa0})  # CUDA_ERROR_NOT_PERMITTED !cuMemPoolCreate-fabric-channel !cuMemPoolCreate-host-multinode
)"),
            "");
}

// A program may use a destroyed pool by mistake; the memory decides where it lies.
TEST(FuzzRegression, APointerThroughADestroyedPoolIsItsMemorys) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, location=host_numa0})
cuMemPoolDestroy(o1)
o2 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})
r1 = cuMemAllocFromPoolAsync(2M, o2)
d1 = cuMemPoolExportToShareableHandle(o2, posix_fd)
s1 = cuMemPoolExportPointer(r1)
r2 = cuMemPoolImportPointer(o1, s1)
cuMemcpyHtoD(r2, host(1, fill=0), 1)
o3 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
r3 = cuMemPoolImportPointer(o3, s1)
cuMemPoolDestroy(o3)
)"),
            "");
}

TEST(FuzzRegression, WhatCameAgainThroughADestroyedPoolMayBeTouchedOrNot) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device1})
d1 = cuMemPoolExportToShareableHandle(o1, posix_fd)
r1 = cuMemAllocFromPoolAsync(2M, o1)
s1 = cuMemPoolExportPointer(r1)
o2 = cuMemPoolImportFromShareableHandle(d1, posix_fd)
cuMemPoolDestroy(o1)
r2 = cuMemPoolImportPointer(o2, s1)
cuMemFreeAsync(r1)
r3 = cuMemPoolImportPointer(o1, s1)
cuMemcpyHtoD(r2, host(1, fill=0), 1)
)"),
            "");
}

// A call that takes effect up to a hole does not touch the memory behind it.
TEST(FuzzRegression, AccessUpToAHoleShowsNothingBehindIt) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
r1 = cuMemAddressReserve(4M)
r2 = cuMemAddressReserve(4M)
h1 = cuMulticastCreate({numDevices=1, size=2M})
cuMulticastAddDevice(h1, 0)
h2 = cuMemCreate(2M, host_numa=0)
cuMemMap(r2, 2M, h1)
cuMemMap(r1, 2M, h2)
cuMemSetAccess(r1, 6M, [host:r])
)"),
            "");
}

// The reference would need a cell for each granule of a multicast object of any size.
TEST(FuzzRegression, AHugeMulticastObjectIsNotMapped) {
  EXPECT_EQ(disagreement(R"(cuvmm-program 1
init()
h1 = cuMulticastCreate({numDevices=1, size=0x10000400000, handleTypes=posix_fd})
cuMulticastAddDevice(h1, 0)
r1 = cuMemAddressReserve(8M)
cuMemMap(r1, 0x10000400000, h1)
)"),
            "");
}

}  // namespace
}  // namespace cuvmm::fuzz
