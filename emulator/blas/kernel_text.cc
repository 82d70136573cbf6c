// SPDX-License-Identifier: Apache-2.0
#include "emulator/blas/kernel_text.h"

namespace cuvmm::blas {

namespace {

// Each thread computes one element; the sums and searches of `reduce` have one thread. FF stands
// for the type of the computation, f32 or f64, and words such as LOAD_A for the instructions of a
// type in memory. Long sums of `reduce` are in f64, because a GPU's, which add parts of a vector to
// each other, err less than a sum in the order of the elements. A factor comes as a value, or by an
// address that is not 0. Distances are in bytes.
constexpr const char* kText = R"(
.version 7.0
.target TARGET
.address_size 64
.visible .entry multiply(.param .u64 rows, .param .u64 elements, .param .u64 inner,
  .param .u64 alpha_at, .param .FF alpha, .param .u64 a, .param .u64 a_row, .param .u64 a_column,
  .param .u64 a_next, .param .u64 b, .param .u64 b_row, .param .u64 b_column, .param .u64 b_next,
  .param .u64 beta_at, .param .FF beta, .param .u64 c, .param .u64 c_row, .param .u64 c_column,
  .param .u64 c_next, .param .u32 indirect)
{
  .reg .pred %p<6>; .reg .b32 %r<6>; .reg .b64 %d<30>; .reg .FF %x<8>; .reg .b16 %h;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d1, [elements]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra end;
  ld.param.u64 %d1, [rows]; div.u64 %d2, %d0, %d1; rem.u64 %d3, %d0, %d1;
  mov.u32 %r3, %ctaid.y; cvt.u64.u32 %d4, %r3;
  ld.param.u64 %d5, [a]; ld.param.u64 %d6, [a_next]; mad.lo.u64 %d5, %d4, %d6, %d5;
  ld.param.u64 %d8, [b]; ld.param.u64 %d6, [b_next]; mad.lo.u64 %d8, %d4, %d6, %d8;
  ld.param.u64 %d11, [c]; ld.param.u64 %d6, [c_next]; mad.lo.u64 %d11, %d4, %d6, %d11;
  ld.param.u32 %r4, [indirect]; setp.ne.u32 %p4, %r4, 0;
  @%p4 ld.global.u64 %d5, [%d5]; @%p4 ld.global.u64 %d8, [%d8]; @%p4 ld.global.u64 %d11, [%d11];
  ld.param.u64 %d6, [a_row]; mad.lo.u64 %d5, %d3, %d6, %d5; ld.param.u64 %d7, [a_column];
  ld.param.u64 %d9, [b_column]; mad.lo.u64 %d8, %d2, %d9, %d8; ld.param.u64 %d10, [b_row];
  ld.param.u64 %d12, [c_row]; mad.lo.u64 %d11, %d3, %d12, %d11;
  ld.param.u64 %d12, [c_column]; mad.lo.u64 %d11, %d2, %d12, %d11;
  mov.FF %x0, ZERO; ld.param.u64 %d13, [inner];
next:
  setp.eq.u64 %p1, %d13, 0; @%p1 bra sum;
  LOAD_A LOAD_B fma.rn.FF %x0, %x1, %x2, %x0;
  add.u64 %d5, %d5, %d7; add.u64 %d8, %d8, %d10; sub.u64 %d13, %d13, 1; bra next;
sum:
  ld.param.FF %x3, [alpha]; ld.param.u64 %d14, [alpha_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x3, [%d14];
  ld.param.FF %x4, [beta]; ld.param.u64 %d14, [beta_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x4, [%d14];
  mul.rn.FF %x5, %x3, %x0; setp.eq.FF %p3, %x4, ZERO; @%p3 bra store;
  LOAD_C fma.rn.FF %x5, %x4, %x6, %x5;
store:
  STORE_C
end:
  ret;
}
.visible .entry add(.param .u64 rows, .param .u64 elements, .param .u64 alpha_at,
  .param .FF alpha, .param .u64 a, .param .u64 a_row, .param .u64 a_column, .param .u64 beta_at,
  .param .FF beta, .param .u64 b, .param .u64 b_row, .param .u64 b_column, .param .u64 c,
  .param .u64 c_row, .param .u64 c_column, .param .u32 reads)
{
  .reg .pred %p<6>; .reg .b32 %r<6>; .reg .b64 %d<20>; .reg .FF %x<8>; .reg .b16 %h;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d1, [elements]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra end;
  ld.param.u64 %d1, [rows]; div.u64 %d2, %d0, %d1; rem.u64 %d3, %d0, %d1;
  ld.param.u64 %d5, [a]; ld.param.u64 %d6, [a_row]; mad.lo.u64 %d5, %d3, %d6, %d5;
  ld.param.u64 %d6, [a_column]; mad.lo.u64 %d5, %d2, %d6, %d5;
  ld.param.u64 %d8, [b]; ld.param.u64 %d6, [b_row]; mad.lo.u64 %d8, %d3, %d6, %d8;
  ld.param.u64 %d6, [b_column]; mad.lo.u64 %d8, %d2, %d6, %d8;
  ld.param.u64 %d11, [c]; ld.param.u64 %d6, [c_row]; mad.lo.u64 %d11, %d3, %d6, %d11;
  ld.param.u64 %d6, [c_column]; mad.lo.u64 %d11, %d2, %d6, %d11;
  ld.param.FF %x3, [alpha]; ld.param.u64 %d14, [alpha_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x3, [%d14];
  ld.param.FF %x4, [beta]; ld.param.u64 %d14, [beta_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x4, [%d14];
  mov.FF %x5, ZERO; setp.eq.FF %p3, %x4, ZERO; @%p3 bra first;
  LOAD_B mul.rn.FF %x5, %x4, %x2;
first:
  ld.param.u32 %r3, [reads]; setp.eq.u32 %p4, %r3, 0;
  setp.eq.and.FF %p3, %x3, ZERO, %p4; @%p3 bra store;
  LOAD_A fma.rn.FF %x5, %x3, %x1, %x5;
store:
  STORE_C
end:
  ret;
}
.visible .entry move(.param .u64 count, .param .u64 x, .param .u64 x_next, .param .u64 y,
  .param .u64 y_next, .param .u32 swaps)
{
  .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %d<20>; .reg .FF %x<8>; .reg .b16 %h;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d1, [count]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra end;
  ld.param.u64 %d5, [x]; ld.param.u64 %d6, [x_next]; mad.lo.u64 %d5, %d0, %d6, %d5;
  ld.param.u64 %d8, [y]; ld.param.u64 %d6, [y_next]; mad.lo.u64 %d8, %d0, %d6, %d8;
  ld.param.u32 %r3, [swaps]; setp.ne.u32 %p1, %r3, 0;
  ld.global.FF %x1, [%d5]; @%p1 ld.global.FF %x2, [%d8];
  st.global.FF [%d8], %x1; @%p1 st.global.FF [%d5], %x2;
end:
  ret;
}
.visible .entry reduce(.param .u64 count, .param .u64 x, .param .u64 x_next, .param .u64 y,
  .param .u64 y_next, .param .u32 kind, .param .u64 result, .param .u32 wide)
{
  .reg .pred %p<8>; .reg .b32 %r<6>; .reg .b64 %d<20>; .reg .FF %x<8>; .reg .f64 %y<8>;
  .reg .b16 %h;
  ld.param.u64 %d0, [count]; ld.param.u64 %d6, [x_next]; ld.param.u32 %r0, [kind];
  ld.param.u64 %d11, [result]; ld.param.u32 %r1, [wide];
  setp.le.u32 %p0, %r0, 2; setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 3;
  setp.eq.u32 %p6, %r0, 2; ld.param.u64 %d8, [y]; ld.param.u64 %d7, [y_next];
  mov.f64 %y5, 0d3FF0000000000000; mov.f64 %y6, %y5; mov.u32 %r2, 0;
again:
  ld.param.u64 %d5, [x]; mov.u64 %d1, 0; mov.u64 %d2, 0; mov.f64 %y0, 0d0000000000000000;
next:
  setp.ge.u64 %p3, %d1, %d0; @%p3 bra done;
  LOAD_A WIDEN %y1, %x1; @%p6 bra product; abs.f64 %y1, %y1;
  add.u64 %d5, %d5, %d6; add.u64 %d1, %d1, 1;
  @!%p0 bra extreme;
  @%p1 bra square;
  add.rn.f64 %y0, %y0, %y1; bra next;
product:
  LOAD_B WIDEN %y2, %x2; fma.rn.f64 %y0, %y1, %y2, %y0;
  add.u64 %d5, %d5, %d6; add.u64 %d8, %d8, %d7; add.u64 %d1, %d1, 1; bra next;
square:
  mul.rn.f64 %y1, %y1, %y5; fma.rn.f64 %y0, %y1, %y1, %y0; bra next;
extreme:
  setp.eq.u64 %p4, %d1, 1; @%p4 bra better;
  setp.gt.f64 %p5, %y1, %y0; @!%p2 setp.lt.f64 %p5, %y1, %y0; @!%p5 bra next;
better:
  mov.f64 %y0, %y1; mov.u64 %d2, %d1; bra next;
done:
  @!%p0 bra index;
  @!%p1 bra store;
  setp.ne.u32 %p4, %r2, 0; @%p4 bra root;
  mov.u32 %r2, 1; mov.f64 %y5, 0d1A70000000000000; mov.f64 %y6, 0d6570000000000000;
  setp.eq.f64 %p5, %y0, 0d7FF0000000000000; @%p5 bra again;
  mov.f64 %y5, 0d6570000000000000; mov.f64 %y6, 0d1A70000000000000;
  setp.lt.f64 %p5, %y0, 0d07B0000000000000; @%p5 bra again;
  mov.f64 %y6, 0d3FF0000000000000;
root:
  sqrt.rn.f64 %y0, %y0; mul.rn.f64 %y0, %y0, %y6;
store:
  NARROW %x5, %y0; STORE_C ret;
index:
  setp.ne.u32 %p4, %r1, 0; cvt.u32.u64 %r3, %d2;
  @%p4 st.global.u64 [%d11], %d2; @!%p4 st.global.u32 [%d11], %r3;
  ret;
}
)";

std::string load(Element element, const std::string& to, const std::string& from) {
  switch (element) {
    case Element::kF32:
      return "ld.global.f32 " + to + ", [" + from + "];";
    case Element::kF64:
      return "ld.global.f64 " + to + ", [" + from + "];";
    case Element::kF16:
      return "ld.global.b16 %h, [" + from + "]; cvt.f32.f16 " + to + ", %h;";
    case Element::kBf16:
      break;
  }
  return "ld.global.u16 %r5, [" + from + "]; shl.b32 %r5, %r5, 16; mov.b32 " + to + ", %r5;";
}

std::string store(Element element, const std::string& to, const std::string& from) {
  switch (element) {
    case Element::kF32:
      return "st.global.f32 [" + to + "], " + from + ";";
    case Element::kF64:
      return "st.global.f64 [" + to + "], " + from + ";";
    case Element::kF16:
      return "cvt.rn.f16.f32 %h, " + from + "; st.global.b16 [" + to + "], %h;";
    case Element::kBf16:
      break;
  }
  return "cvt.rn.bf16.f32 %h, " + from + "; st.global.b16 [" + to + "], %h;";
}

}  // namespace

std::string kernel_text(Element in, Element out) {
  std::string text = kText;
  const bool wide = in == Element::kF64;
  const auto replace = [&](const std::string& word, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size())
      text.replace(at, word.size(), by);
  };
  replace("TARGET", in == Element::kBf16 ? "sm_80" : "sm_53");
  replace("LOAD_A", load(in, "%x1", "%d5"));
  replace("LOAD_B", load(in, "%x2", "%d8"));
  replace("LOAD_C", load(out, "%x6", "%d11"));
  replace("STORE_C", store(out, "%d11", "%x5"));
  replace("WIDEN", wide ? "mov.f64" : "cvt.f64.f32");
  replace("NARROW", wide ? "mov.f64" : "cvt.rn.f32.f64");
  replace(".FF", wide ? ".f64" : ".f32");
  replace("ZERO", wide ? "0d0000000000000000" : "0f00000000");
  return text;
}

}  // namespace cuvmm::blas
