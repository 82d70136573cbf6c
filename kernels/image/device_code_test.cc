// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/device_code.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "api/sizes.h"
#include "kernels/testing_code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {
namespace {

using testing::Cubin;
using testing::fat_binary;

constexpr Capability kHopper{9, 0};

CUresult read(const std::string& image, DeviceCode& code) {
  return read_device_code({image.data(), image.size()}, kHopper, code);
}

TEST(DeviceCodeTest, ACubinNamesItsKernelsAndVariables) {
  DeviceCode code;
  ASSERT_EQ(read(Cubin{}.bytes(), code), CUDA_SUCCESS);
  ASSERT_EQ(code.kernels.size(), 1u) << "a function that is no entry point is no kernel";
  EXPECT_EQ(code.kernels[0].name, "add");
  EXPECT_EQ(code.kernels[0].registers, 24);
  EXPECT_EQ(code.kernels[0].shared_bytes, 256);
  EXPECT_EQ(code.kernels[0].local_bytes, 40);
  EXPECT_EQ(code.kernels[0].constant_bytes, 8);
  ASSERT_NE(code.variable("counter"), nullptr);
  EXPECT_EQ(code.variable("counter")->size, 4u);
  EXPECT_EQ(code.variable("counter")->contents, std::string("\7\0\0\0", 4));
  ASSERT_NE(code.variable("table"), nullptr);
  EXPECT_EQ(code.variable("table")->size, 400u);
  EXPECT_EQ(code.variable("table")->contents, "");
  EXPECT_FALSE(code.hidden);
}

TEST(DeviceCodeTest, ACubinIsForItsOwnArchitecture) {
  DeviceCode code;
  EXPECT_EQ(read(Cubin{.architecture = 100}.bytes(), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(read(Cubin{.architecture = 80}.bytes(), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(read(Cubin{.abi = 7}.bytes(), code), CUDA_SUCCESS) << "as to CUDA 12";
}

TEST(DeviceCodeTest, NothingIsReadOutsideOfAFile) {
  const std::string whole = Cubin{}.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part(whole, 0, size);
    DeviceCode code;
    read(part, code);  // sanitizers check the accesses
  }
  std::string wrong = whole;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    wrong[i] = static_cast<char>(~wrong[i]);
    DeviceCode code;
    read(wrong, code);
    wrong[i] = whole[i];
  }
}

/// An image of unknown size, followed by memory that cannot be read.
class AtTheEnd {
 public:
  explicit AtTheEnd(const std::string& image) : size_((image.size() / kPage + 2) * kPage) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    begin_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, kFlags, -1, 0));
    image_ = begin_ + size_ - kPage - image.size();
    std::copy(image.begin(), image.end(), image_);
    EXPECT_EQ(mprotect(begin_ + size_ - kPage, kPage, PROT_NONE), 0);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { munmap(begin_, size_); }
  CUresult read(DeviceCode& code) const {
    return read_device_code({image_, CodeBytes::kUnknown}, kHopper, code);
  }

 private:
  std::size_t size_;
  char* begin_ = nullptr;
  char* image_ = nullptr;
};

TEST(DeviceCodeTest, NothingIsReadThatCannotBe) {
  const std::string cubin = Cubin{}.bytes();
  for (std::string whole : {cubin, fat_binary({{2, 90, cubin}})}) {
    DeviceCode code;
    EXPECT_EQ(AtTheEnd(whole).read(code), CUDA_SUCCESS);
    EXPECT_NE(code.kernel("add"), nullptr);
    EXPECT_EQ(code.variable("counter")->contents, std::string("\7\0\0\0", 4));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int flipped : {0xff, 0x40}) {
        whole[i] = static_cast<char>(whole[i] ^ flipped);
        DeviceCode other;
        AtTheEnd(whole).read(other);  // must return
        whole[i] = static_cast<char>(whole[i] ^ flipped);
      }
    }
    for (std::size_t size = 1; size < whole.size(); ++size) {
      DeviceCode other;
      AtTheEnd(whole.substr(0, size)).read(other);
    }
  }
}

TEST(DeviceCodeTest, AnImageEndsBeforeAGapInMemory) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const pages = mmap(nullptr, 3 * kPage, PROT_READ, kFlags, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(pages) + kPage, kPage, PROT_NONE), 0);
  const CodeBytes image(static_cast<char*>(pages), CodeBytes::kUnknown);
  EXPECT_TRUE(image.inside(kPage - 1, 1));
  EXPECT_FALSE(image.inside(kPage, 1));
  EXPECT_FALSE(image.inside(2 * kPage, 1)) << "another object's";
  EXPECT_TRUE(image.inside(0, kPage)) << "as before";
  munmap(pages, 3 * kPage);
}

TEST(DeviceCodeTest, TextMayEndWhereMemoryDoes) {
  DeviceCode code;
  EXPECT_EQ(AtTheEnd(testing::kPtx).read(code), CUDA_SUCCESS);
  EXPECT_EQ(code.kernels.size(), 2u);
  EXPECT_EQ(AtTheEnd("abc").read(code), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(read_device_code({nullptr, CodeBytes::kUnknown}, kHopper, code),
            CUDA_ERROR_INVALID_IMAGE);
}

TEST(DeviceCodeTest, PtxNamesItsKernelsAndVariables) {
  DeviceCode code;
  ASSERT_EQ(read(testing::kPtx, code), CUDA_SUCCESS);
  ASSERT_EQ(code.kernels.size(), 2u);
  EXPECT_EQ(code.kernels[0].name, "add");
  EXPECT_EQ(code.kernels[1].name, "_Z5otherPi");
  ASSERT_EQ(code.variables.size(), 3u)
      << "what is inside of a body or elsewhere is not of the module";
  EXPECT_EQ(code.variable("counter")->size, 4u);
  EXPECT_EQ(code.variable("table")->size, 400u);
  EXPECT_EQ(code.variable("pairs")->size, 96u);
  EXPECT_TRUE(code.variable("pairs")->constant);
}

TEST(DeviceCodeTest, NoKernelTakesMoreThanALaunchCanPass) {
  const auto kernel = [](const char* bytes) {
    return std::string(".version 8.3\n.target sm_90\n.address_size 64\n.entry k(.param .b8 a[") +
           bytes + "], .param .u32 b) { ret; }\n";
  };
  DeviceCode code;
  EXPECT_EQ(read(kernel("32760"), code), CUDA_SUCCESS);
  EXPECT_EQ(read(kernel("32761"), code), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(code.error, "line 4, column 1: the parameters of `k` take more than 32764 bytes");
  EXPECT_EQ(read(kernel("2147483647"), code), CUDA_ERROR_INVALID_PTX);
}

TEST(DeviceCodeTest, AFatBinaryIsAsGoodAsWhatFits) {
  const std::string mine = Cubin{}.bytes(), newer = Cubin{.architecture = 100}.bytes();
  DeviceCode code;
  ASSERT_EQ(read(fat_binary({{2, 100, newer}, {2, 90, mine}}), code), CUDA_SUCCESS);
  EXPECT_NE(code.kernel("add"), nullptr);
  EXPECT_EQ(read(fat_binary({{2, 100, newer}}), code), CUDA_ERROR_NO_BINARY_FOR_GPU);
  DeviceCode text;
  ASSERT_EQ(read(fat_binary({{2, 100, newer}, {1, 80, testing::kPtx}}), text), CUDA_SUCCESS);
  EXPECT_NE(text.kernel("_Z5otherPi"), nullptr);
  DeviceCode packed;
  ASSERT_EQ(read(fat_binary({{2, 90, "compressed", 4096}}), packed), CUDA_SUCCESS);
  EXPECT_TRUE(packed.hidden);
  const std::string whole = fat_binary({{2, 90, mine}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    DeviceCode part;
    EXPECT_NE(read(whole.substr(0, size), part), CUDA_SUCCESS);
  }
}

TEST(DeviceCodeTest, WhatIsNoneOfThemIsNoImage) {
  DeviceCode code;
  for (const char* text : {"", "x", "no code at all", ".version 9.0\n", "\177ELF"}) {
    EXPECT_EQ(read(text, code), CUDA_ERROR_INVALID_IMAGE) << text;
  }
}

TEST(DeviceCodeTest, PtxForNewerGpusServesAProgramThatHasNoOther) {
  const auto ptx = [](unsigned architecture, const char* kernel) {
    return testing::FatEntry{1, architecture,
                             std::string(".version 8.8\n.target sm_100\n.address_size 64\n") +
                                 ".visible .entry " + kernel + "() { ret; }\n"};
  };
  const std::string fat = fat_binary({ptx(120, "later"), ptx(100, "k"), ptx(103, "later")});
  DeviceCode code;
  EXPECT_EQ(read(fat, code), CUDA_ERROR_NO_BINARY_FOR_GPU) << "a program that loads it is refused";
  const struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const char* binary;
    const void* name = nullptr;
  } wrapper{.binary = fat.data()};
  const auto* const bytes = reinterpret_cast<const char*>(&wrapper);
  ASSERT_EQ(read_device_code({bytes, CodeBytes::kUnknown}, kHopper, code), CUDA_SUCCESS);
  EXPECT_NE(code.kernel("k"), nullptr);
  EXPECT_EQ(code.newer, 100);
}

// nvcc -rdc=true leaves a linked cubin, and the PTX of each file. A library may come without PTX.
TEST(DeviceCodeTest, FilesThatWereCompiledApartAreOneModule) {
  const std::string head = ".version 8.0\n.target sm_70\n.address_size 64\n";
  const std::string twice = ".func (.param .b32 out) twice(.param .b32 in)";
  const std::string first =
      fat_binary({{1, 70,
                   head + ".extern " + twice + ";\n.extern .global .b32 count;\n" +
                       ".visible .entry k() { ret; }\n"}});
  const std::string second = fat_binary(
      {{1, 70, head + ".visible .global .b32 count = 3;\n.visible " + twice + " { ret; }\n"}});
  const std::string other_gpus_cubin = fat_binary({{2, 75, Cubin{.architecture = 75}.bytes()}});
  const std::string library = fat_binary({{2, 90, Cubin{.architecture = 90}.bytes()}});
  const char* const inputs[] = {first.data(), library.data(), second.data(), nullptr};
  const struct {
    std::uint32_t magic = 0x466243b1, version = 2;
    const char* linked;
    const char* const* inputs;
  } wrapper{.linked = other_gpus_cubin.data(), .inputs = inputs};
  DeviceCode code;
  const auto* const bytes = reinterpret_cast<const char*>(&wrapper);
  ASSERT_EQ(read_device_code({bytes, CodeBytes::kUnknown}, kHopper, code), CUDA_SUCCESS);
  EXPECT_NE(code.kernel("k"), nullptr);
  ASSERT_NE(code.variable("count"), nullptr);
  EXPECT_EQ(code.variable("count")->contents, std::string("\3\0\0\0", 4));
  ASSERT_NE(code.ptx, nullptr);
  EXPECT_TRUE(code.ptx->function("twice")->defined);
}

}  // namespace
}  // namespace cuvmm::kernels
