// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/symbols/symbols.h"
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using V1 = CUresult(const char*, void**, int, unsigned long long);
using V2 = CUresult(const char*, void**, int, unsigned long long, int*);
constexpr int kFound = 0, kNoSymbol = 1, kVersion = 2;

struct Answer {
  CUresult result;
  void* function;
  int status;
};

class ProcAddress : public ::testing::Test {
 protected:
  Answer ask(const char* name, int version, unsigned long long flags = 0) {
    Answer answer{CUDA_ERROR_UNKNOWN, this, -1};
    answer.result = v2_(name, &answer.function, version, flags, &answer.status);
    return answer;
  }
  void* exported(const char* name) { return dlsym(library().library, name); }
  V2* v2_ = symbol<V2>("cuGetProcAddress_v2");
  V1* v1_ = symbol<V1>("cuGetProcAddress");
};

TEST_F(ProcAddress, EveryTripleOfOurEntryPointsLeadsToItsSymbol) {
  for (const SymbolInfo& info : symbols()) {
    const Answer answer = ask(info.query, info.version, info.flags);
    if (info.version > 13000) continue;  // newer than the emulated driver
    EXPECT_OK(answer.result) << info.name;
    EXPECT_EQ(answer.status, kFound) << info.name;
    EXPECT_EQ(answer.function, exported(info.name)) << info.name;
  }
}

TEST_F(ProcAddress, NewerRequestsGetTheNewestAbi) {
  EXPECT_EQ(ask("cuCtxCreate", 3020).function, exported("cuCtxCreate_v2"));
  EXPECT_EQ(ask("cuCtxCreate", 13000).function, exported("cuCtxCreate_v4"));
  EXPECT_EQ(ask("cuGetProcAddress", 11030).function, exported("cuGetProcAddress"));
  EXPECT_EQ(ask("cuGetProcAddress", 12000).function, exported("cuGetProcAddress_v2"));
  EXPECT_EQ(ask("cuMemMap", 99000).function, exported("cuMemMap"));
}

TEST_F(ProcAddress, PerThreadStreamsFallBackWhereThereIsNoVariant) {
  EXPECT_EQ(ask("cuMemsetD8", 13000, 2).function, exported("cuMemsetD8_v2_ptds"));
  EXPECT_EQ(ask("cuMemsetD8", 13000, 1).function, exported("cuMemsetD8_v2"));
  EXPECT_EQ(ask("cuMemMap", 13000, 2).function, exported("cuMemMap"));
}

TEST_F(ProcAddress, SaysWhyThereIsNothing) {
  Answer answer = ask("cuNoSuchFunction", 13000);
  EXPECT_EQ(answer.result, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer.status, kNoSymbol);
  EXPECT_EQ(answer.function, nullptr);
  answer = ask("cuMemMap", 10010);
  EXPECT_EQ(answer.result, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer.status, kVersion);
  answer = ask("cuMemMap", 13000, 4);
  EXPECT_EQ(answer.result, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ProcAddress, TheEmptyNameSucceedsWithNothing) {
  const Answer answer = ask("", 0);
  EXPECT_OK(answer.result);
  EXPECT_EQ(answer.function, nullptr);
  void* function = this;
  EXPECT_OK(v2_("cuInit", &function, 2000, 0, nullptr)) << "no status wanted";
  EXPECT_EQ(function, exported("cuInit"));
}

TEST_F(ProcAddress, TheFirstAbiTakesFourArguments) {
  void* function = nullptr;
  EXPECT_OK(v1_("cuMemCreate", &function, 11030, 0));
  EXPECT_EQ(function, exported("cuMemCreate"));
  EXPECT_EQ(v1_("cuMemCreate", nullptr, 11030, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ProcAddress, WhatIsNotEmulatedSaysSoOnce) {
  const Answer answer = ask("cuTexRefCreate", 11030);
  ASSERT_OK(answer.result);
  auto* function = reinterpret_cast<CUresult (*)()>(answer.function);
  EXPECT_EQ(stderr_of([&] {
              EXPECT_EQ(function(), CUDA_ERROR_NOT_SUPPORTED);
              EXPECT_EQ(function(), CUDA_ERROR_NOT_SUPPORTED);
            }),
            "cuvmm emulator: cuTexRefCreate is not emulated; it answers "
            "CUDA_ERROR_NOT_SUPPORTED\n");
}

TEST_F(ProcAddress, NvidiasRuntimeIsToldOnceThatItCannotWork) {
  using ExportTable = CUresult(const void**, const void*);
  auto* table = symbol<ExportTable>("cuGetExportTable");
  const unsigned char runtime[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                     0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  const unsigned char other[16] = {1};
  const void* out = this;
  EXPECT_EQ(stderr_of([&] { EXPECT_EQ(table(&out, other), CUDA_ERROR_NOT_FOUND); }), "");
  EXPECT_EQ(out, nullptr);
  const std::string printed = stderr_of([&] {
    EXPECT_EQ(table(&out, runtime), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(table(&out, runtime), CUDA_ERROR_NOT_FOUND);
  });
  EXPECT_NE(printed.find("NVIDIA's CUDA runtime"), std::string::npos);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
