// SPDX-License-Identifier: Apache-2.0
#include "api/driver/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "api/location.h"
#include "api/multicast.h"
#include "api/newer/pools.h"

namespace cuvmm {
namespace {

TEST(ResultName, KnowsCodesWithoutADriver) {
  EXPECT_EQ(result_name(CUDA_SUCCESS), "CUDA_SUCCESS");
  EXPECT_EQ(result_name(CUDA_ERROR_INVALID_VALUE), "CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(result_name(static_cast<CUresult>(47)), "CUDA_ERROR_MULTICAST_RESOURCE_FULL");
  EXPECT_EQ(result_name(CUDA_ERROR_UNKNOWN), "CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(result_name(static_cast<CUresult>(1234)), "CUresult(1234)");
}

TEST(ResultName, NamesLeadBack) {
  for (int code = 0; code < 1000; ++code) {
    const std::string name = result_name(static_cast<CUresult>(code));
    if (name.starts_with("CUresult(")) continue;
    EXPECT_EQ(result_from_name(name), static_cast<CUresult>(code)) << name;
    EXPECT_EQ(result_from_name(name.substr(5)), static_cast<CUresult>(code)) << name;
  }
  EXPECT_EQ(result_from_name("CUDA_ERROR_NO_SUCH"), std::nullopt);
}

TEST(Driver, PrimarySymbolsAreWhatTheHeaderCalls) {
  const auto primary = [](EntryPoint e) { return Driver::primary_symbol(e); };
  EXPECT_EQ(primary(EntryPoint::kMemcpyHtoD), Symbol::k_cuMemcpyHtoD_v2);
  EXPECT_EQ(primary(EntryPoint::kMemcpy), Symbol::k_cuMemcpy);
  EXPECT_EQ(primary(EntryPoint::kMemFree), Symbol::k_cuMemFree_v2);
  EXPECT_EQ(primary(EntryPoint::kMemMap), Symbol::k_cuMemMap);
  for (std::size_t i = 0; i < static_cast<std::size_t>(EntryPoint::kCount); ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    EXPECT_NE(primary(entry), Symbol::kCount) << name(entry);
  }
}

TEST(Driver, ACallThatTheDriverLacksIsNotFound) {
  EXPECT_EQ(Driver()(calls::MemRelease{.handle = 1}), CUDA_ERROR_NOT_FOUND);
}

TEST(LoadDriver, SaysWhyAFileCannotBeLoaded) {
  EXPECT_NE(load_driver("/nonexistent/libcuda.so.1").error.find("nonexistent"), std::string::npos);
  EXPECT_NE(load_driver("libc.so.6").error.find("is not a libcuda"), std::string::npos);
}

TEST(LoadDriver, KeepsManagedMemoryFromForeignDrivers) {
  const LoadedDriver loaded = load_driver(CUVMM_FAKE_DRIVER);
  ASSERT_EQ(loaded.error, "");
  const int& reached = *static_cast<int*>(dlsym(loaded.library, "pool_calls"));
  CUmemLocation place = make_location(kLocationHost, 0);
  CUmemoryPool pool = nullptr;
  const auto all = [&](CUmemAllocationType type) {
    CUmemPoolProps props{};
    props.allocType = type;
    return std::vector{loaded.driver(calls::MemPoolCreate{&pool, &props}),
                       loaded.driver(calls::MemGetDefaultMemPool{&pool, &place, type}),
                       loaded.driver(calls::MemGetMemPool{&pool, &place, type}),
                       loaded.driver(calls::MemSetMemPool{&place, type, pool})};
  };
  EXPECT_EQ(all(kManagedMemory), std::vector(4, CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(all(CU_MEM_ALLOCATION_TYPE_PINNED), std::vector(4, CUDA_SUCCESS));
  EXPECT_EQ(reached, 4);
}

TEST(LoadDriver, RefusesMulticastOfForeignDriversUnlessAllowed) {
  const LoadedDriver careful = load_driver(CUVMM_FAKE_DRIVER);
  ASSERT_EQ(careful.error, "");
  EXPECT_FALSE(careful.multicast);
  EXPECT_EQ(careful.driver(calls::MemRelease{1}), CUDA_SUCCESS);
  const int& reached = *static_cast<int*>(dlsym(careful.library, "multicast_calls"));
  const LoadedDriver allowed = load_driver(CUVMM_FAKE_DRIVER, true);
  EXPECT_TRUE(allowed.multicast);
  int marked = 0;
  for (const SymbolInfo& info : symbols()) {
    if (!can_multicast(info.entry)) continue;
    ++marked;
    const auto call = [&](const LoadedDriver& loaded) {
      const auto function = loaded.driver.get(info.symbol);
      return function ? reinterpret_cast<CUresult (*)()>(function)() : CUDA_ERROR_NOT_FOUND;
    };
    EXPECT_EQ(call(careful), CUDA_ERROR_NOT_SUPPORTED) << info.name;
    EXPECT_EQ(reached, marked - 1) << info.name;
    EXPECT_EQ(call(allowed), CUDA_SUCCESS) << info.name;
    EXPECT_EQ(reached, marked) << info.name;
  }
  EXPECT_GE(marked, 8);
  EXPECT_EQ(careful.driver(calls::MulticastCreate{}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(reached, marked);
}

}  // namespace
}  // namespace cuvmm
