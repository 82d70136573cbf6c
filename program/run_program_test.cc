// SPDX-License-Identifier: Apache-2.0
#include "program/run_program.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "api/driver/mock_driver.h"
#include "program/session.h"

namespace cuvmm::program {
namespace {
using testing::_;
using testing::DoAll;
using testing::NiceMock;
using testing::Return;
using testing::SetArgPointee;
using testing::StrictMock;

Program program(std::string_view text) {
  ParsedProgram parsed = parse_program(text);
  for (const ParseError& error : parsed.errors) ADD_FAILURE() << format_error(error, "program");
  return parsed.program;
}

std::vector<std::string> texts(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> all;
  for (const Outcome& outcome : outcomes) all.push_back(outcome_text(outcome));
  return all;
}

TEST(RunHere, BindsResultsAndFillsCalls) {
  StrictMock<MockDriver> mock;
  EXPECT_CALL(mock, MemAddressReserve(_, 4 << 20, 0, 0, 0))
      .WillOnce(DoAll(SetArgPointee<0>(0x10000000), Return(CUDA_SUCCESS)));
  EXPECT_CALL(
      mock,
      MemCreate(_, 2 << 20,
                testing::Pointee(testing::Field(&CUmemAllocationProp::requestedHandleTypes, 9)), 0))
      .WillOnce(DoAll(SetArgPointee<0>(77), Return(CUDA_SUCCESS)));
  EXPECT_CALL(mock, MemMap(0x10000000 + (2 << 20), 2 << 20, 0, 77, 1))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_CALL(mock, MemSetAccess(0x10000000, 4096, testing::NotNull(), 2))
      .WillOnce(Return(CUDA_SUCCESS));
  EXPECT_CALL(mock, MemGetAccess(_, _, 0x10000000))
      .WillOnce(DoAll(SetArgPointee<0>(3), Return(CUDA_SUCCESS)));
  EXPECT_EQ(texts(run_here(mock.driver(),
                           program("r = cuMemAddressReserve(4M)\n"
                                   "h = cuMemCreate(2M, device=0, handle_types=posix_fd|fabric)\n"
                                   "cuMemMap(r+2M, 2M, h, flags=1)\n"
                                   "cuMemSetAccess(r, 4K, [device0:rw, host:r])\n"
                                   "cuMemGetAccess(device0, r)\n"))),
            (std::vector<std::string>{"CUDA_SUCCESS", "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE",
                                      "CUDA_SUCCESS", "CUDA_SUCCESS =3"}));
}

TEST(RunHere, AFailedCallLeavesItsNameUnbound) {
  StrictMock<MockDriver> mock;
  EXPECT_CALL(mock, MemCreate).WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_CALL(mock, MemGetAccess)
      .WillOnce(DoAll(SetArgPointee<0>(0), Return(CUDA_ERROR_INVALID_VALUE)));
  EXPECT_CALL(mock, MemAddressReserve(nullptr, _, _, _, _))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(
      texts(run_here(mock.driver(), program("h = cuMemCreate(2M, device=0)\n"
                                            "cuMemRelease(h)\n"
                                            "cuMemGetAccess(device0, 4K)\n"
                                            "cuMemAddressReserve(4M, ptr=null)\n"))),
      (std::vector<std::string>{"CUDA_ERROR_OUT_OF_MEMORY", "not-run: the call that makes h failed",
                                "CUDA_ERROR_INVALID_VALUE =0", "CUDA_ERROR_INVALID_VALUE"}));
}

TEST(RunHere, HostBuffersAndPseudoCalls) {
  StrictMock<MockDriver> mock;
  EXPECT_CALL(mock, MemcpyDtoH(testing::NotNull(), 0x1000, 2))
      .WillOnce([](void* to, CUdeviceptr, size_t) {
        static_cast<char*>(to)[1] = 0x2a;
        return CUDA_SUCCESS;
      });
  EXPECT_EQ(texts(run_here(mock.driver(),
                           program("b = host(8, fill=7)\n"
                                   "cuMemcpyDtoH(b+1, 4K, 2)\n"
                                   "bytes(b, 4)\nsame(b, b)\ndifference(4, 2M)\n"
                                   "aligned(6M, 4M)\nd = memfd(4096)\ndescriptor(d)\nclose(d)\n"
                                   "descriptor(d)\npeek(b, 1)\npoke(b, 0xff)\nbytes(b, 1)\n"))),
            (std::vector<std::string>{"CUDA_SUCCESS", "CUDA_SUCCESS", "CUDA_SUCCESS =07072a07",
                                      "CUDA_SUCCESS =1", "CUDA_SUCCESS =-2097148",
                                      "CUDA_SUCCESS =0", "CUDA_SUCCESS", "CUDA_SUCCESS =3",
                                      "CUDA_SUCCESS", "CUDA_SUCCESS =0", "CUDA_SUCCESS =07",
                                      "CUDA_SUCCESS", "CUDA_SUCCESS =ff"}));
}

TEST(RunHere, NothingIsReadOrWrittenBehindAHostBuffer) {
  NiceMock<MockDriver> mock;
  const std::string no = "not-run: the host buffer has ";
  EXPECT_EQ(
      texts(run_here(mock.driver(),
                     program("b = host(4, fill=7)\nbytes(b, 4)\nbytes(b, 5)\nbytes(b+2, 3)\n"
                             "bytes(b+4, 1)\nbytes(b+100, 1)\nbytes(b-1, 1)\npeek(b, 4096)\n"
                             "poke(b+3, 1)\npoke(b+4, 1)\nbytes(host(2), 3)\nbytes(b, 8M)\n"
                             "n = host(8G)\nsame(n, n)\nbytes(b+4, 0)\n"
                             "e = host(0)\nsame(e, 0)\n"))),
      (std::vector<std::string>{
          "CUDA_SUCCESS", "CUDA_SUCCESS =07070707", no + "4 bytes from there, not 5",
          no + "2 bytes from there, not 3", no + "0 bytes from there, not 1",
          no + "0 bytes from there, not 1", no + "0 bytes from there, not 1",
          no + "4 bytes from there, not 4096", "CUDA_SUCCESS", no + "0 bytes from there, not 1",
          no + "2 bytes from there, not 3", no + "4 bytes from there, not 4096", "CUDA_SUCCESS",
          "CUDA_SUCCESS =1", "CUDA_SUCCESS", "CUDA_SUCCESS", "CUDA_SUCCESS =0"}));
}

TEST(RunHere, ThreadsAreRealAndKeepTheOrder) {
  NiceMock<MockDriver> mock;
  ON_CALL(mock, CtxSynchronize).WillByDefault([] {
    static thread_local int calls = 0;
    return static_cast<CUresult>(++calls);
  });
  const std::string sync = "cuCtxSynchronize()\n";
  const auto outcomes =
      run_here(mock.driver(), program(sync + "@t1 " + sync + "@t1 " + sync + "@t2 " + sync + sync));
  std::vector<int> counts;
  for (const Outcome& outcome : outcomes) counts.push_back(outcome.result);
  EXPECT_EQ(counts, (std::vector<int>{1, 1, 2, 1, 2}));
}

TEST(RunProgram, ACrashAndAHangAreOutcomes) {
  NiceMock<MockDriver> mock;
  ON_CALL(mock, MemRelease(1)).WillByDefault([](auto) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return CUDA_SUCCESS;
  });
  ON_CALL(mock, MemRelease(2)).WillByDefault([](auto) {
    for (;;) pause();
    return CUDA_SUCCESS;
  });
  ON_CALL(mock, MemRelease(3)).WillByDefault([](auto) -> CUresult { _exit(4); });
  RunOptions options;
  options.timeout = std::chrono::milliseconds(300);
  EXPECT_EQ(texts(run_program(mock.driver(),
                              program("cuMemRelease(0)\ncuMemRelease(1)\ncuMemRelease(0)\n"
                                      "@p1 cuMemRelease(2)\n@p1 cuMemRelease(0)\n"
                                      "@p2 cuMemRelease(3)\n@p3 exit()\n"),
                              options)),
            (std::vector<std::string>{
                "CUDA_SUCCESS", "signal:SIGSEGV", "not-run: its process is gone (signal:SIGSEGV)",
                "timeout", "not-run: its process is gone (timeout)", "exit:4", "CUDA_SUCCESS"}));
}

TEST(RunProgram, NamesCrossProcesses) {
  NiceMock<MockDriver> mock;
  ON_CALL(mock, MemExportToShareableHandle).WillByDefault([](void* out, auto, auto, auto) {
    const int fd = memfd_create("shared", MFD_CLOEXEC);
    if (ftruncate(fd, 12345) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(out) = fd;
    return CUDA_SUCCESS;
  });
  // The "handle" is the size of the file behind the descriptor, which proves which file arrived.
  ON_CALL(mock, MemImportFromShareableHandle).WillByDefault([](auto* handle, void* fd, auto) {
    struct stat status;
    if (fstat(static_cast<int>(reinterpret_cast<std::uintptr_t>(fd)), &status) != 0)
      return CUDA_ERROR_UNKNOWN;
    *handle = static_cast<CUmemGenericAllocationHandle>(status.st_size);
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(texts(run_program(mock.driver(),
                              program("f = cuMemExportToShareableHandle(9, posix_fd)\n"
                                      "b = host(4, fill=0x11)\n"
                                      "@p1 receive(f)\n"
                                      "close(f)\nexit()\n"
                                      "@p1 h = cuMemImportFromShareableHandle(f, posix_fd)\n"
                                      "@p1 difference(h, 0)\n"
                                      "@p1 bytes(b, 4)\n"))),
            (std::vector<std::string>{"CUDA_SUCCESS", "CUDA_SUCCESS", "CUDA_SUCCESS",
                                      "CUDA_SUCCESS", "CUDA_SUCCESS", "CUDA_SUCCESS",
                                      "CUDA_SUCCESS =12345", "not-run: nothing binds b"}));
}

TEST(Outcome, TextsLeadBack) {
  for (const char* text : {"CUDA_SUCCESS", "CUDA_ERROR_NOT_SUPPORTED =3", "signal:SIGSEGV",
                           "exit:3", "timeout", "not-run: because"}) {
    EXPECT_EQ(outcome_text(parse_outcome(text)), text);
  }
}

TEST(AsExpected, ComparesCodeAndValue) {
  Statement statement;
  Outcome outcome{Outcome::Status::kDone, CUDA_SUCCESS, "3", ""};
  EXPECT_TRUE(as_expected(statement, outcome));
  statement.expected = CUDA_SUCCESS;
  EXPECT_TRUE(as_expected(statement, outcome));
  statement.expected_value = "4";
  EXPECT_FALSE(as_expected(statement, outcome));
  statement.expected_value = "3";
  EXPECT_TRUE(as_expected(statement, outcome));
  outcome.status = Outcome::Status::kSignal;
  EXPECT_FALSE(as_expected(statement, outcome));
}

}  // namespace
}  // namespace cuvmm::program
