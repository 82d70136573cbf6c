// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/testdata, packed by lz4 (a block of `lz4 -l -9`) and zstd (-19 --check);
// and the results for packed bytes that are cut off or wrong.
#include "kernels/image/unpack.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "kernels/image/device_code.h"
#include "kernels/testing_code.h"

namespace cuvmm::kernels {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Way {
  const char* suffix;
  std::optional<std::string> (*unpack)(std::string_view, std::size_t);
  std::uint64_t flag;  ///< the flag in the entry of a fat binary
};

class Unpack : public ::testing::TestWithParam<Way> {
 protected:
  const std::string plain_ = file(CUVMM_PTX_KERNELS);
  const std::string packed_ = file(std::string(CUVMM_PACKED_KERNELS) + GetParam().suffix);
  std::optional<std::string> unpack(std::string_view packed) const {
    return GetParam().unpack(packed, plain_.size());
  }
};

TEST_P(Unpack, YieldsWhatWasPacked) {
  ASSERT_FALSE(plain_.empty());
  ASSERT_FALSE(packed_.empty());
  ASSERT_LT(packed_.size(), plain_.size());
  const auto found = unpack(packed_);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, plain_);
}

TEST_P(Unpack, RefusesAnotherSize) {
  EXPECT_FALSE(GetParam().unpack(packed_, plain_.size() - 1));
  EXPECT_FALSE(GetParam().unpack(packed_, plain_.size() + 1));
}

TEST_P(Unpack, RefusesWhatIsCutOff) {
  constexpr std::size_t kChecksum = 4;  // bytes, which the unpacker ignores
  for (std::size_t size = 0; size + kChecksum < packed_.size(); size += 5) {
    EXPECT_FALSE(unpack(std::string_view(packed_).substr(0, size))) << size;
  }
}

// Some wrong bytes unpack to another text. No call may read or write outside of its bytes;
// sanitizers check that.
TEST_P(Unpack, SurvivesWrongBytes) {
  std::size_t refused = 0;
  for (std::size_t at = 0; at < packed_.size(); at += 5) {
    std::string wrong = packed_;
    wrong[at] = static_cast<char>(~wrong[at]);
    const auto found = unpack(wrong);
    refused += found ? 0 : 1;
    if (found) {
      EXPECT_EQ(found->size(), plain_.size());
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_P(Unpack, APackedEntryOfAFatBinaryIsRead) {
  std::string padded = packed_;
  padded.append(7, '\0');
  DeviceCode code;
  const auto packed = static_cast<std::uint32_t>(packed_.size());
  const std::string fat =
      testing::fat_binary({{1, 75, padded, plain_.size(), packed, GetParam().flag}});
  ASSERT_EQ(read_device_code({fat.data(), fat.size()}, {9, 0}, code), CUDA_SUCCESS);
  EXPECT_TRUE(code.ptx);
  EXPECT_FALSE(code.hidden);
  EXPECT_FALSE(code.kernels.empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, Unpack,
                         ::testing::Values(Way{".lz4", unpack_lz4, 0x2011},
                                           Way{".zst", unpack_zstd, 0x8011}));

TEST(Unpack, OneByteManyTimes) {
  // A frame whose single block repeats a byte.
  const std::string frame("\x28\xb5\x2f\xfd\x20\x64\x23\x03\x00\x61", 10);
  const auto found = unpack_zstd(frame, 100);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::string(100, 'a'));
}

}  // namespace
}  // namespace cuvmm::kernels
