// SPDX-License-Identifier: Apache-2.0
// The kernels that cuvmm-bench-kernels measures: PTX that nvcc made of kernels.cu for sm_75.
#pragma once

namespace cuvmm::bench {

inline constexpr const char* kKernels = R"(
.version 9.0
.target sm_75
.address_size 64
.visible .entry empty()
{
ret;
}
.visible .entry multiply_add(
.param .u64 multiply_add_0,
.param .u32 multiply_add_1
)
{
.reg .pred %p<6>;
.reg .f32 %f<76>;
.reg .b32 %r<15>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [multiply_add_0];
ld.param.u32 %r8, [multiply_add_1];
mov.u32 %r1, %tid.x;
cvt.rn.f32.u32 %f33, %r1;
mul.f32 %f74, %f33, 0f3A83126F;
setp.lt.s32 %p1, %r8, 1;
mov.f32 %f75, 0f3E800000;
mov.f32 %f73, 0f3F7FBE77;
mov.f32 %f72, 0f3F000000;
@%p1 bra $L__BB1_6;
add.s32 %r9, %r8, -1;
and.b32 %r14, %r8, 3;
setp.lt.u32 %p2, %r9, 3;
mov.f32 %f72, 0f3F000000;
mov.f32 %f73, 0f3F7FBE77;
mov.f32 %f75, 0f3E800000;
@%p2 bra $L__BB1_4;
sub.s32 %r13, %r8, %r14;
mov.f32 %f72, 0f3F000000;
mov.f32 %f73, 0f3F7FBE77;
mov.f32 %f75, 0f3E800000;
$L__BB1_3:
fma.rn.f32 %f41, %f73, %f74, 0f3C23D70A;
fma.rn.f32 %f42, %f72, %f73, 0f3CA3D70A;
fma.rn.f32 %f43, %f73, %f75, 0f3CF5C28F;
fma.rn.f32 %f44, %f73, 0f3F7FF972, 0f3851B717;
fma.rn.f32 %f45, %f44, %f41, 0f3C23D70A;
fma.rn.f32 %f46, %f42, %f44, 0f3CA3D70A;
fma.rn.f32 %f47, %f44, %f43, 0f3CF5C28F;
fma.rn.f32 %f48, %f44, 0f3F7FF972, 0f3851B717;
fma.rn.f32 %f49, %f48, %f45, 0f3C23D70A;
fma.rn.f32 %f50, %f46, %f48, 0f3CA3D70A;
fma.rn.f32 %f51, %f48, %f47, 0f3CF5C28F;
fma.rn.f32 %f52, %f48, 0f3F7FF972, 0f3851B717;
fma.rn.f32 %f74, %f52, %f49, 0f3C23D70A;
fma.rn.f32 %f72, %f50, %f52, 0f3CA3D70A;
fma.rn.f32 %f75, %f52, %f51, 0f3CF5C28F;
fma.rn.f32 %f73, %f52, 0f3F7FF972, 0f3851B717;
add.s32 %r13, %r13, -4;
setp.ne.s32 %p3, %r13, 0;
@%p3 bra $L__BB1_3;
$L__BB1_4:
setp.eq.s32 %p4, %r14, 0;
@%p4 bra $L__BB1_6;
$L__BB1_5:
.pragma "nounroll";
fma.rn.f32 %f74, %f73, %f74, 0f3C23D70A;
fma.rn.f32 %f72, %f72, %f73, 0f3CA3D70A;
fma.rn.f32 %f75, %f73, %f75, 0f3CF5C28F;
fma.rn.f32 %f73, %f73, 0f3F7FF972, 0f3851B717;
add.s32 %r14, %r14, -1;
setp.ne.s32 %p5, %r14, 0;
@%p5 bra $L__BB1_5;
$L__BB1_6:
add.f32 %f53, %f72, %f74;
add.f32 %f54, %f53, %f75;
add.f32 %f55, %f73, %f54;
mov.u32 %r10, %ntid.x;
mov.u32 %r11, %ctaid.x;
mad.lo.s32 %r12, %r11, %r10, %r1;
cvta.to.global.u64 %rd2, %rd1;
mul.wide.u32 %rd3, %r12, 4;
add.s64 %rd4, %rd2, %rd3;
st.global.f32 [%rd4], %f55;
ret;
}
.visible .entry add(
.param .u64 add_0,
.param .u64 add_1,
.param .u64 add_2,
.param .u32 add_3
)
{
.reg .pred %p<2>;
.reg .f32 %f<4>;
.reg .b32 %r<6>;
.reg .b64 %rd<11>;
ld.param.u64 %rd1, [add_0];
ld.param.u64 %rd2, [add_1];
ld.param.u64 %rd3, [add_2];
ld.param.u32 %r2, [add_3];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %tid.x;
mad.lo.s32 %r1, %r3, %r4, %r5;
setp.ge.s32 %p1, %r1, %r2;
@%p1 bra $L__BB2_2;
cvta.to.global.u64 %rd4, %rd1;
mul.wide.s32 %rd5, %r1, 4;
add.s64 %rd6, %rd4, %rd5;
cvta.to.global.u64 %rd7, %rd2;
add.s64 %rd8, %rd7, %rd5;
ld.global.f32 %f1, [%rd8];
ld.global.f32 %f2, [%rd6];
add.f32 %f3, %f2, %f1;
cvta.to.global.u64 %rd9, %rd3;
add.s64 %rd10, %rd9, %rd5;
st.global.f32 [%rd10], %f3;
$L__BB2_2:
ret;
}
.visible .entry transpose(
.param .u64 transpose_0,
.param .u64 transpose_1,
.param .u32 transpose_2
)
{
.reg .f32 %f<9>;
.reg .b32 %r<22>;
.reg .b64 %rd<16>;
.shared .align 4 .b8 _ZZ9transposeE4tile[4224];
ld.param.u64 %rd1, [transpose_0];
ld.param.u64 %rd2, [transpose_1];
ld.param.u32 %r1, [transpose_2];
cvta.to.global.u64 %rd3, %rd2;
mov.u32 %r2, %ctaid.x;
shl.b32 %r3, %r2, 5;
mov.u32 %r4, %tid.x;
add.s32 %r5, %r3, %r4;
mov.u32 %r6, %ctaid.y;
shl.b32 %r7, %r6, 5;
mov.u32 %r8, %tid.y;
add.s32 %r9, %r7, %r8;
mad.lo.s32 %r10, %r9, %r1, %r5;
mul.wide.s32 %rd4, %r10, 4;
add.s64 %rd5, %rd3, %rd4;
ld.global.f32 %f1, [%rd5];
mov.u32 %r11, _ZZ9transposeE4tile;
mad.lo.s32 %r12, %r8, 132, %r11;
shl.b32 %r13, %r4, 2;
add.s32 %r14, %r12, %r13;
st.shared.f32 [%r14], %f1;
shl.b32 %r15, %r1, 3;
mul.wide.s32 %rd6, %r15, 4;
add.s64 %rd7, %rd5, %rd6;
ld.global.f32 %f2, [%rd7];
st.shared.f32 [%r14+1056], %f2;
add.s64 %rd8, %rd7, %rd6;
ld.global.f32 %f3, [%rd8];
st.shared.f32 [%r14+2112], %f3;
add.s64 %rd9, %rd8, %rd6;
ld.global.f32 %f4, [%rd9];
st.shared.f32 [%r14+3168], %f4;
cvta.to.global.u64 %rd10, %rd1;
bar.sync 0;
add.s32 %r16, %r7, %r4;
add.s32 %r17, %r3, %r8;
mad.lo.s32 %r18, %r4, 132, %r11;
shl.b32 %r19, %r8, 2;
add.s32 %r20, %r18, %r19;
ld.shared.f32 %f5, [%r20];
mad.lo.s32 %r21, %r17, %r1, %r16;
mul.wide.s32 %rd11, %r21, 4;
add.s64 %rd12, %rd10, %rd11;
st.global.f32 [%rd12], %f5;
ld.shared.f32 %f6, [%r20+32];
add.s64 %rd13, %rd12, %rd6;
st.global.f32 [%rd13], %f6;
ld.shared.f32 %f7, [%r20+64];
add.s64 %rd14, %rd13, %rd6;
st.global.f32 [%rd14], %f7;
ld.shared.f32 %f8, [%r20+96];
add.s64 %rd15, %rd14, %rd6;
st.global.f32 [%rd15], %f8;
ret;
}
.visible .entry reduce(
.param .u64 reduce_0,
.param .u64 reduce_1,
.param .u32 reduce_2
)
{
.reg .pred %p<7>;
.reg .b32 %r<33>;
.reg .b64 %rd<7>;
.shared .align 4 .b8 _ZZ6reduceE4part[1024];
ld.param.u64 %rd2, [reduce_0];
ld.param.u64 %rd3, [reduce_1];
ld.param.u32 %r14, [reduce_2];
mov.u32 %r1, %ntid.x;
mov.u32 %r16, %ctaid.x;
mov.u32 %r2, %tid.x;
mad.lo.s32 %r29, %r16, %r1, %r2;
setp.ge.s32 %p1, %r29, %r14;
mov.u32 %r31, 0;
@%p1 bra $L__BB4_3;
mov.u32 %r18, %nctaid.x;
mul.lo.s32 %r4, %r18, %r1;
cvta.to.global.u64 %rd1, %rd2;
mov.u32 %r31, 0;
$L__BB4_2:
mul.wide.s32 %rd4, %r29, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r19, [%rd5];
add.s32 %r31, %r19, %r31;
add.s32 %r29, %r29, %r4;
setp.lt.s32 %p2, %r29, %r14;
@%p2 bra $L__BB4_2;
$L__BB4_3:
shl.b32 %r20, %r2, 2;
mov.u32 %r21, _ZZ6reduceE4part;
add.s32 %r10, %r21, %r20;
st.shared.u32 [%r10], %r31;
bar.sync 0;
shr.u32 %r32, %r1, 1;
setp.eq.s32 %p3, %r32, 0;
@%p3 bra $L__BB4_7;
$L__BB4_4:
setp.ge.u32 %p4, %r2, %r32;
@%p4 bra $L__BB4_6;
shl.b32 %r22, %r32, 2;
add.s32 %r23, %r10, %r22;
ld.shared.u32 %r24, [%r10];
ld.shared.u32 %r25, [%r23];
add.s32 %r26, %r24, %r25;
st.shared.u32 [%r10], %r26;
$L__BB4_6:
bar.sync 0;
shr.u32 %r32, %r32, 1;
setp.ne.s32 %p5, %r32, 0;
@%p5 bra $L__BB4_4;
$L__BB4_7:
setp.ne.s32 %p6, %r2, 0;
@%p6 bra $L__BB4_9;
ld.shared.u32 %r27, [_ZZ6reduceE4part];
cvta.to.global.u64 %rd6, %rd3;
atom.global.add.u32 %r28, [%rd6], %r27;
$L__BB4_9:
ret;
}
.visible .entry hash(
.param .u64 hash_0,
.param .u32 hash_1
)
{
.reg .pred %p<11>;
.reg .b32 %r<71>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [hash_0];
ld.param.u32 %r15, [hash_1];
mov.u32 %r16, %ntid.x;
mov.u32 %r17, %ctaid.x;
mov.u32 %r18, %tid.x;
mad.lo.s32 %r1, %r17, %r16, %r18;
setp.lt.s32 %p1, %r15, 1;
mov.u32 %r70, %r1;
@%p1 bra $L__BB5_6;
add.s32 %r20, %r15, -1;
and.b32 %r69, %r15, 3;
setp.lt.u32 %p2, %r20, 3;
mov.u32 %r70, %r1;
@%p2 bra $L__BB5_4;
sub.s32 %r65, %r15, %r69;
mov.u32 %r70, %r1;
$L__BB5_3:
shr.u32 %r21, %r70, 16;
xor.b32 %r22, %r21, %r70;
mul.lo.s32 %r23, %r22, -2048144789;
shr.u32 %r24, %r23, 13;
xor.b32 %r25, %r24, %r23;
mul.lo.s32 %r26, %r25, -1028477387;
and.b32 %r27, %r26, 1;
setp.eq.b32 %p3, %r27, 1;
add.s32 %r28, %r26, 7;
selp.b32 %r29, %r28, %r26, %p3;
shr.u32 %r30, %r29, 16;
xor.b32 %r31, %r30, %r29;
mul.lo.s32 %r32, %r31, -2048144789;
shr.u32 %r33, %r32, 13;
xor.b32 %r34, %r33, %r32;
mul.lo.s32 %r35, %r34, -1028477387;
and.b32 %r36, %r35, 1;
setp.eq.b32 %p4, %r36, 1;
add.s32 %r37, %r35, 7;
selp.b32 %r38, %r37, %r35, %p4;
shr.u32 %r39, %r38, 16;
xor.b32 %r40, %r39, %r38;
mul.lo.s32 %r41, %r40, -2048144789;
shr.u32 %r42, %r41, 13;
xor.b32 %r43, %r42, %r41;
mul.lo.s32 %r44, %r43, -1028477387;
and.b32 %r45, %r44, 1;
setp.eq.b32 %p5, %r45, 1;
add.s32 %r46, %r44, 7;
selp.b32 %r47, %r46, %r44, %p5;
shr.u32 %r48, %r47, 16;
xor.b32 %r49, %r48, %r47;
mul.lo.s32 %r50, %r49, -2048144789;
shr.u32 %r51, %r50, 13;
xor.b32 %r52, %r51, %r50;
mul.lo.s32 %r53, %r52, -1028477387;
and.b32 %r54, %r53, 1;
setp.eq.b32 %p6, %r54, 1;
add.s32 %r55, %r53, 7;
selp.b32 %r70, %r55, %r53, %p6;
add.s32 %r65, %r65, -4;
setp.ne.s32 %p7, %r65, 0;
@%p7 bra $L__BB5_3;
$L__BB5_4:
setp.eq.s32 %p8, %r69, 0;
@%p8 bra $L__BB5_6;
$L__BB5_5:
.pragma "nounroll";
shr.u32 %r56, %r70, 16;
xor.b32 %r57, %r56, %r70;
mul.lo.s32 %r58, %r57, -2048144789;
shr.u32 %r59, %r58, 13;
xor.b32 %r60, %r59, %r58;
mul.lo.s32 %r61, %r60, -1028477387;
and.b32 %r62, %r61, 1;
setp.eq.b32 %p9, %r62, 1;
add.s32 %r63, %r61, 7;
selp.b32 %r70, %r63, %r61, %p9;
add.s32 %r69, %r69, -1;
setp.ne.s32 %p10, %r69, 0;
@%p10 bra $L__BB5_5;
$L__BB5_6:
cvta.to.global.u64 %rd2, %rd1;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r70;
ret;
}
.visible .entry multiply(
.param .u64 multiply_0,
.param .u64 multiply_1,
.param .u64 multiply_2,
.param .u32 multiply_3
)
{
.reg .pred %p<3>;
.reg .f32 %f<57>;
.reg .b32 %r<33>;
.reg .b64 %rd<20>;
.shared .align 4 .b8 _ZZ8multiplyE2as[1024];
.shared .align 4 .b8 _ZZ8multiplyE2bs[1024];
ld.param.u64 %rd8, [multiply_0];
ld.param.u64 %rd9, [multiply_1];
ld.param.u64 %rd10, [multiply_2];
ld.param.u32 %r12, [multiply_3];
mov.u32 %r13, %ctaid.y;
shl.b32 %r14, %r13, 4;
mov.u32 %r1, %tid.y;
add.s32 %r15, %r14, %r1;
mov.u32 %r16, %ctaid.x;
shl.b32 %r2, %r16, 4;
mov.u32 %r3, %tid.x;
mul.lo.s32 %r4, %r15, %r12;
setp.lt.s32 %p1, %r12, 16;
mov.f32 %f56, 0f00000000;
@%p1 bra $L__BB6_3;
shl.b32 %r18, %r1, 6;
mov.u32 %r19, _ZZ8multiplyE2as;
add.s32 %r7, %r19, %r18;
shl.b32 %r20, %r3, 2;
add.s32 %r5, %r7, %r20;
mov.u32 %r21, _ZZ8multiplyE2bs;
add.s32 %r22, %r21, %r18;
add.s32 %r6, %r22, %r20;
add.s32 %r8, %r21, %r20;
add.s32 %r23, %r3, %r4;
cvta.to.global.u64 %rd11, %rd8;
mul.wide.s32 %rd12, %r23, 4;
add.s64 %rd19, %rd11, %rd12;
mad.lo.s32 %r24, %r1, %r12, %r3;
add.s32 %r25, %r24, %r2;
cvta.to.global.u64 %rd13, %rd9;
mul.wide.s32 %rd14, %r25, 4;
add.s64 %rd18, %rd13, %rd14;
shl.b32 %r26, %r12, 4;
mul.wide.s32 %rd3, %r26, 4;
shr.s32 %r27, %r12, 31;
shr.u32 %r28, %r27, 28;
add.s32 %r29, %r12, %r28;
shr.s32 %r9, %r29, 4;
mov.f32 %f56, 0f00000000;
mov.u32 %r32, 0;
$L__BB6_2:
ld.global.f32 %f6, [%rd19];
st.shared.f32 [%r5], %f6;
ld.global.f32 %f7, [%rd18];
st.shared.f32 [%r6], %f7;
bar.sync 0;
ld.shared.f32 %f8, [%r8];
ld.shared.f32 %f9, [%r7];
fma.rn.f32 %f10, %f9, %f8, %f56;
ld.shared.f32 %f11, [%r8+64];
ld.shared.f32 %f12, [%r7+4];
fma.rn.f32 %f13, %f12, %f11, %f10;
ld.shared.f32 %f14, [%r8+128];
ld.shared.f32 %f15, [%r7+8];
fma.rn.f32 %f16, %f15, %f14, %f13;
ld.shared.f32 %f17, [%r8+192];
ld.shared.f32 %f18, [%r7+12];
fma.rn.f32 %f19, %f18, %f17, %f16;
ld.shared.f32 %f20, [%r8+256];
ld.shared.f32 %f21, [%r7+16];
fma.rn.f32 %f22, %f21, %f20, %f19;
ld.shared.f32 %f23, [%r8+320];
ld.shared.f32 %f24, [%r7+20];
fma.rn.f32 %f25, %f24, %f23, %f22;
ld.shared.f32 %f26, [%r8+384];
ld.shared.f32 %f27, [%r7+24];
fma.rn.f32 %f28, %f27, %f26, %f25;
ld.shared.f32 %f29, [%r8+448];
ld.shared.f32 %f30, [%r7+28];
fma.rn.f32 %f31, %f30, %f29, %f28;
ld.shared.f32 %f32, [%r8+512];
ld.shared.f32 %f33, [%r7+32];
fma.rn.f32 %f34, %f33, %f32, %f31;
ld.shared.f32 %f35, [%r8+576];
ld.shared.f32 %f36, [%r7+36];
fma.rn.f32 %f37, %f36, %f35, %f34;
ld.shared.f32 %f38, [%r8+640];
ld.shared.f32 %f39, [%r7+40];
fma.rn.f32 %f40, %f39, %f38, %f37;
ld.shared.f32 %f41, [%r8+704];
ld.shared.f32 %f42, [%r7+44];
fma.rn.f32 %f43, %f42, %f41, %f40;
ld.shared.f32 %f44, [%r8+768];
ld.shared.f32 %f45, [%r7+48];
fma.rn.f32 %f46, %f45, %f44, %f43;
ld.shared.f32 %f47, [%r8+832];
ld.shared.f32 %f48, [%r7+52];
fma.rn.f32 %f49, %f48, %f47, %f46;
ld.shared.f32 %f50, [%r8+896];
ld.shared.f32 %f51, [%r7+56];
fma.rn.f32 %f52, %f51, %f50, %f49;
ld.shared.f32 %f53, [%r8+960];
ld.shared.f32 %f54, [%r7+60];
fma.rn.f32 %f56, %f54, %f53, %f52;
bar.sync 0;
add.s64 %rd19, %rd19, 64;
add.s64 %rd18, %rd18, %rd3;
add.s32 %r32, %r32, 1;
setp.lt.s32 %p2, %r32, %r9;
@%p2 bra $L__BB6_2;
$L__BB6_3:
add.s32 %r30, %r2, %r3;
add.s32 %r31, %r4, %r30;
cvta.to.global.u64 %rd15, %rd10;
mul.wide.s32 %rd16, %r31, 4;
add.s64 %rd17, %rd15, %rd16;
st.global.f32 [%rd17], %f56;
ret;
}
)";

}  // namespace cuvmm::bench
