// SPDX-License-Identifier: Apache-2.0
#include "api/documented_results/documented_results.h"

#include <gmock/gmock.h>

#include <string>

namespace cuvmm {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Documented, HasTheListsOfTheHeader) {
  const auto create = documented_results(EntryPoint::kMemCreate);
  EXPECT_THAT(create, Contains(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_THAT(create, Contains(CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_THAT(create, Not(Contains(CUDA_ERROR_ILLEGAL_ADDRESS)));
  EXPECT_TRUE(is_documented(EntryPoint::kMemSetAccess, CUDA_ERROR_INVALID_DEVICE));
  EXPECT_FALSE(is_documented(EntryPoint::kMemSetAccess, CUDA_ERROR_OUT_OF_MEMORY));
}

TEST(Documented, TheUsualFailureIsWhatACorrectProgramMayMeet) {
  EXPECT_EQ(usual_failure(EntryPoint::kMemCreate), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(usual_failure(EntryPoint::kMemSetAccess), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(usual_failure(EntryPoint::kMemcpyHtoD), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(usual_failure(EntryPoint::kMemPoolGetAccess), std::nullopt);
}

TEST(Documented, EveryUsualFailureIsDocumented) {
  for (int i = 0; i < static_cast<int>(EntryPoint::kCount); ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    const auto code = usual_failure(entry);
    if (code) {
      EXPECT_TRUE(is_documented(entry, *code)) << name(entry);
    } else {
      EXPECT_THAT(documented_results(entry), IsEmpty()) << name(entry);
    }
  }
}

TEST(Documented, KnowsWhatGivesUp) {
  for (const EntryPoint entry :
       {EntryPoint::kMemUnmap, EntryPoint::kMemRelease, EntryPoint::kMemAddressFree,
        EntryPoint::kMemFreeAsync, EntryPoint::kIpcCloseMemHandle, EntryPoint::kCtxDestroy}) {
    EXPECT_TRUE(gives_up(entry)) << name(entry);
  }
  for (const EntryPoint entry :
       {EntryPoint::kMemMap, EntryPoint::kMemCreate, EntryPoint::kMemcpyDtoH}) {
    EXPECT_FALSE(gives_up(entry)) << name(entry);
  }
}

}  // namespace
}  // namespace cuvmm
