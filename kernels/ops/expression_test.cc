// SPDX-License-Identifier: Apache-2.0
// Random expressions, computed by the host and by PTX: the results are equal, bit by bit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

// Values in registers of a type, each computed from earlier values.
template <class T>
struct Program {
  std::string text;
  std::vector<T> values;

  std::string name(std::size_t index) const {
    const char* const prefix = std::is_same_v<T, float>    ? "%f"
                               : std::is_same_v<T, double> ? "%fd"
                               : sizeof(T) == 8            ? "%rd1"
                                                           : "%r1";
    return prefix + std::to_string(index);
  }
  std::size_t pick() const { return *rc::gen::inRange<std::size_t>(0, values.size()); }
  void add(const std::string& what, T value) {
    text += what + "\n";
    values.push_back(value);
  }
};

template <class T>
std::string hexadecimal(T value) {
  char out[32];
  if constexpr (std::is_same_v<T, float>) {
    std::snprintf(out, sizeof out, "0f%08X", std::bit_cast<std::uint32_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    std::snprintf(out, sizeof out, "0d%016llX",
                  static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  } else {
    std::snprintf(out, sizeof out, "0x%llx", static_cast<unsigned long long>(value));
  }
  return out;
}

template <class T>
void expect_last(const Program<T>& program, const char* type) {
  const testing::Ran ran = testing::run_body(program.text + "st.global." + type + " [%rd0], " +
                                             program.name(program.values.size() - 1) + ";");
  RC_ASSERT(ran.error == "");
  RC_ASSERT(ran.fault.what == "");
  const T got = ran.at<T>(0), expected = program.values.back();
  if (expected != expected) {
    RC_ASSERT(got != got);
  } else {
    RC_ASSERT(std::memcmp(&got, &expected, sizeof got) == 0);
  }
}

template <class U>
void integer_step(Program<U>& p) {
  using S = std::make_signed_t<U>;
  constexpr unsigned kBits = sizeof(U) * 8;
  const std::string bits = std::to_string(kBits);
  const std::size_t ia = p.pick(), ib = p.pick();
  const U a = p.values[ia], b = p.values[ib];
  const unsigned by = *rc::gen::inRange(0u, kBits + 3);
  const std::string to = p.name(p.values.size()) + ", ", x = p.name(ia), y = p.name(ib);
  const std::string two = to + x + ", " + y + ";", shift = to + x + ", " + std::to_string(by) + ";";
  const auto s = [](U v) { return static_cast<S>(v); };
  switch (*rc::gen::inRange(0, 15)) {
    case 0:
      return p.add("add.u" + bits + " " + two, a + b);
    case 1:
      return p.add("sub.s" + bits + " " + two, a - b);
    case 2:
      return p.add("mul.lo.s" + bits + " " + two, a * b);
    case 3:
      return p.add("mul.hi.u" + bits + " " + two,
                   static_cast<U>(static_cast<unsigned __int128>(a) * b >> kBits));
    case 4:
      return p.add("mul.hi.s" + bits + " " + two,
                   static_cast<U>(static_cast<__int128>(s(a)) * s(b) >> kBits));
    case 5:
      return b ? p.add("div.u" + bits + " " + two, a / b)
               : p.add("mov.b" + bits + " " + to + x + ";", a);
    case 6:
      return b ? p.add("rem.u" + bits + " " + two, a % b)
               : p.add("mov.b" + bits + " " + to + x + ";", a);
    case 7:
      return p.add("xor.b" + bits + " " + two, a ^ b);
    case 8:
      return p.add("and.b" + bits + " " + two, a & b);
    case 9:
      return p.add("shl.b" + bits + " " + shift, by >= kBits ? 0 : a << by);
    case 10:
      return p.add("shr.u" + bits + " " + shift, by >= kBits ? 0 : a >> by);
    case 11:
      return p.add("shr.s" + bits + " " + shift, static_cast<U>(s(a) >> std::min(by, kBits - 1)));
    case 12:
      return p.add("min.s" + bits + " " + two, s(a) < s(b) ? a : b);
    case 13:
      return p.add("setp.lt.s" + bits + " %p1, " + x + ", " + y + ";\nselp.b" + bits + " " + to +
                       y + ", " + x + ", %p1;",
                   s(a) < s(b) ? b : a);
    default:
      return p.add("mad.lo.u" + bits + " " + to + x + ", " + y + ", " + x + ";", a * b + a);
  }
}

template <class U>
void integers(const char* type) {
  Program<U> p;
  for (int i = 0; i < 3; ++i) {
    const U value = *rc::gen::oneOf(rc::gen::arbitrary<U>(), rc::gen::element<U>(0, 1, ~U{0}));
    p.add("mov.b" + std::to_string(sizeof(U) * 8) + " " + p.name(p.values.size()) + ", " +
              hexadecimal(value) + ";",
          value);
  }
  const int steps = *rc::gen::inRange(1, 7);
  for (int i = 0; i < steps; ++i) integer_step(p);
  expect_last(p, type);
}

RC_GTEST_PROP(PtxExpression, Integers32, ()) { integers<std::uint32_t>("u32"); }
RC_GTEST_PROP(PtxExpression, Integers64, ()) { integers<std::uint64_t>("u64"); }

template <class T>
void float_step(Program<T>& p, const std::string& type) {
  const std::size_t ia = p.pick(), ib = p.pick(), ic = p.pick();
  const T a = p.values[ia], b = p.values[ib], c = p.values[ic];
  const std::string to = p.name(p.values.size()) + ", ", x = p.name(ia), y = p.name(ib);
  const std::string two = to + x + ", " + y + ";";
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      return p.add("add.rn." + type + " " + two, a + b);
    case 1:
      return p.add("sub." + type + " " + two, a - b);
    case 2:
      return p.add("mul.rn." + type + " " + two, a * b);
    case 3:
      return p.add("div.rn." + type + " " + two, a / b);
    case 4:
      return p.add("fma.rn." + type + " " + to + x + ", " + y + ", " + p.name(ic) + ";",
                   std::fma(a, b, c));
    case 5:
      return p.add("abs." + type + " " + to + x + ";", std::fabs(a));
    default:
      return p.add("sqrt.rn." + type + " " + to + x + ";", std::sqrt(a));
  }
}

template <class T, class Bits>
void floats(const std::string& type) {
  Program<T> p;
  for (int i = 0; i < 3; ++i) {
    const T value = *rc::gen::oneOf(
        rc::gen::map(rc::gen::arbitrary<Bits>(), [](Bits bits) { return std::bit_cast<T>(bits); }),
        rc::gen::map(rc::gen::inRange(-9, 9), [](int whole) { return static_cast<T>(whole); }));
    p.add("mov." + type + " " + p.name(p.values.size()) + ", " + hexadecimal(value) + ";", value);
  }
  const int steps = *rc::gen::inRange(1, 7);
  for (int i = 0; i < steps; ++i) float_step(p, type);
  expect_last(p, type.c_str());
}

RC_GTEST_PROP(PtxExpression, Floats32, ()) { floats<float, std::uint32_t>("f32"); }
RC_GTEST_PROP(PtxExpression, Floats64, ()) { floats<double, std::uint64_t>("f64"); }

// The host of x86-64 converts by instructions of its own; every 16-bit number is converted there
// and back.
TEST(PtxExpression, SmallNumbersComeBack) {
  const testing::Ran ran = testing::run_body(R"(
    mov.u32 %r1, 0;
    mov.u32 %r3, 0;
  next:
    cvt.u16.u32 %h1, %r1;
    cvt.f32.f16 %f1, %h1;
    cvt.rn.f16.f32 %h2, %f1;
    setp.nan.f32 %p1, %f1, %f1;
    setp.ne.and.u16 %p2, %h1, %h2, !%p1;
    @%p2 add.u32 %r3, %r3, 1;
    shl.b32 %r4, %r1, 16;
    mov.b32 %f2, %r4;
    cvt.rn.bf16.f32 %h3, %f2;
    setp.nan.f32 %p1, %f2, %f2;
    setp.ne.and.u16 %p2, %h1, %h3, !%p1;
    @%p2 add.u32 %r3, %r3, 1;
    add.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 65536;
    @%p1 bra next;
    st.global.v2.u32 [%rd0], {%r3, %r1};
  )",
                                             {}, 1 << 24);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.at<unsigned>(0), 0u) << "so many differ";
  EXPECT_EQ(ran.at<unsigned>(1), 65536u);
}

}  // namespace
}  // namespace cuvmm::kernels
