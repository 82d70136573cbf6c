// SPDX-License-Identifier: Apache-2.0
// Products of matrices by wmma, compared with sums of products on the host.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/number/small_float.h"
#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

constexpr std::size_t kA = 0, kB = 4096, kC = 8192, kD = 12288;  // bytes in the memory

// Small whole numbers, so that every sum is exact.
int a_at(unsigned row, unsigned k) { return static_cast<int>((row * 3 + k * 5) % 7) - 3; }
int b_at(unsigned k, unsigned column) { return static_cast<int>((k * 2 + column) % 5) - 2; }
int c_at(unsigned row, unsigned column) { return static_cast<int>(row + column) - 9; }

template <class T, class Value>
void put(std::vector<char>& memory, std::size_t from, std::size_t index, Value value) {
  const T bits = static_cast<T>(value);
  std::memcpy(&memory[from + index * sizeof(T)], &bits, sizeof bits);
}
std::uint16_t half(int value) { return narrow(value, kHalf[0], kHalf[1], Rounding::kNearest); }

std::string list(const char* prefix, unsigned first, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i)
    out += (i ? ", " : "") + std::string(prefix) + std::to_string(first + i);
  return out + "}";
}

// Registers a from 0, b from 8, c and d from 16.
std::string body(const std::string& a, const std::string& b, const std::string& c,
                 const std::string& product, const std::string& d) {
  return "add.u64 %rd1, %rd0, 4096; add.u64 %rd2, %rd0, 8192; add.u64 %rd3, %rd0, 12288;\n"
         "mov.u32 %r39, 16;\n" +
         a + b + c + product + d;
}

const testing::Ran ran_with(const std::string& text, const std::vector<char>& memory) {
  return testing::run_module(testing::module_of(text), {{1, 1, 1}, {32, 1, 1}}, 1 << 20, memory);
}

TEST(Wmma, HalvesWithARowStrideAndAColumnOrder) {
  std::vector<char> memory(1 << 16);
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      put<std::uint16_t>(memory, kA, i * 16 + k, half(a_at(i, k)));
      put<std::uint16_t>(memory, kB, i * 16 + k, half(b_at(k, i)));  // columns
      put<float>(memory, kC, i * 16 + k, c_at(i, k));
    }
  }
  const std::string a = list("%r", 0, 8), b = list("%r", 8, 8), c = list("%f", 0, 8);
  const testing::Ran ran =
      ran_with(body("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + a + ", [%rd0], %r39;\n",
                    "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + b + ", [%rd1], %r39;\n",
                    "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + c + ", [%rd2];\n",
                    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + list("%f", 8, 8) + ", " +
                        a + ", " + b + ", " + c + ";\n",
                    "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd3], " +
                        list("%f", 8, 8) + ", %r39;\n"),
               memory);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned column = 0; column < 16; ++column) {
      int sum = c_at(row, column);
      for (unsigned k = 0; k < 16; ++k) sum += a_at(row, k) * b_at(k, column);
      EXPECT_EQ(ran.at<float>(kD / 4 + column * 16 + row), static_cast<float>(sum));
    }
  }
}

TEST(Wmma, BytesOfANarrowShape) {
  std::vector<char> memory(1 << 16);
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned k = 0; k < 16; ++k) put<std::int8_t>(memory, kA, row * 16 + k, a_at(row, k));
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned column = 0; column < 8; ++column)
      put<std::int8_t>(memory, kB, k * 8 + column, b_at(k, column));
  const std::string a = list("%r", 0, 4), b = list("%r", 8, 1), d = list("%r", 16, 8);
  const testing::Ran ran =
      ran_with(body("wmma.load.a.sync.aligned.row.m32n8k16.s8 " + a + ", [%rd0];\n",
                    "wmma.load.b.sync.aligned.row.m32n8k16.s8 " + b + ", [%rd1];\n",
                    "wmma.load.c.sync.aligned.row.m32n8k16.s32 " + d + ", [%rd2];\n",
                    "wmma.mma.sync.aligned.row.row.m32n8k16.s32.s8.s8.s32 " + d + ", " + a + ", " +
                        b + ", " + d + ";\n",
                    "wmma.store.d.sync.aligned.row.m32n8k16.s32 [%rd3], " + d + ";\n"),
               memory);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned row = 0; row < 32; ++row) {
    for (unsigned column = 0; column < 8; ++column) {
      int sum = 0;
      for (unsigned k = 0; k < 16; ++k) sum += a_at(row, k) * b_at(k, column);
      EXPECT_EQ(ran.at<std::int32_t>(kD / 4 + row * 8 + column), sum);
    }
  }
}

TEST(Wmma, DoublesAreRoundedAtEachStep) {
  std::vector<char> memory(1 << 16);
  const auto x = [](unsigned i, unsigned j) { return 1.0 / (3 + i + 2 * j); };
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned k = 0; k < 4; ++k) {
      put<double>(memory, kA, i * 4 + k, x(i, k));
      put<double>(memory, kB, i * 4 + k, x(k, i));  // columns
    }
  }
  const testing::Ran ran = ran_with(
      body("wmma.load.a.sync.aligned.row.m8n8k4.f64 {%fd0}, [%rd0];\n",
           "wmma.load.b.sync.aligned.col.m8n8k4.f64 {%fd1}, [%rd1];\n",
           "mov.f64 %fd2, 0d3FF0000000000000;\n",
           "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn {%fd4, %fd5}, {%fd0}, {%fd1}, "
           "{%fd2, %fd2};\n",
           "wmma.store.d.sync.aligned.row.m8n8k4.f64 [%rd3], {%fd4, %fd5};\n"),
      memory);
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned row = 0; row < 8; ++row) {
    for (unsigned column = 0; column < 8; ++column) {
      double sum = 1;
      for (unsigned k = 0; k < 4; ++k) sum = std::fma(x(row, k), x(k, column), sum);
      EXPECT_EQ(ran.at<double>(kD / 8 + row * 8 + column), sum);
    }
  }
}

TEST(Wmma, UnknownTypesAreRefused) {
  const testing::Ran ran = testing::run_body(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.bf16.f32 {%f0}, {%r0}, {%r0}, {%f0};");
  EXPECT_NE(ran.error.find("it is not known for its types"), std::string::npos) << ran.error;
}

}  // namespace
}  // namespace cuvmm::kernels
