// The fields of the copy descriptors as one list each: printer, executor and C writer visit them.
#pragma once

#include <cuda.h>

#include <type_traits>

namespace cuvmm {

#define CUVMM_COPY_SIDE(d, side, visit)          \
  visit(#side "XInBytes", d.side##XInBytes);     \
  visit(#side "Y", d.side##Y);                   \
  visit(#side "MemoryType", d.side##MemoryType); \
  visit(#side "Host", d.side##Host);             \
  visit(#side "Device", d.side##Device);         \
  visit(#side "Array", d.side##Array);           \
  visit(#side "Pitch", d.side##Pitch);

#define CUVMM_COPY_SIDE_3D(d, side, visit) \
  CUVMM_COPY_SIDE(d, side, visit)          \
  visit(#side "Z", d.side##Z);             \
  visit(#side "LOD", d.side##LOD);         \
  visit(#side "Height", d.side##Height);

/// visit("srcPitch", field) for every field of a CUDA_MEMCPY2D, CUDA_MEMCPY3D or
/// CUDA_MEMCPY3D_PEER.
template <class Descriptor, class Visitor>
void visit_copy(Descriptor& d, Visitor&& visit) {
  using Plain = std::remove_const_t<Descriptor>;
  if constexpr (std::is_same_v<Plain, CUDA_MEMCPY2D>) {
    CUVMM_COPY_SIDE(d, src, visit)
    CUVMM_COPY_SIDE(d, dst, visit)
  } else {
    CUVMM_COPY_SIDE_3D(d, src, visit)
    CUVMM_COPY_SIDE_3D(d, dst, visit)
    visit("Depth", d.Depth);
  }
  if constexpr (std::is_same_v<Plain, CUDA_MEMCPY3D_PEER>) {
    visit("srcContext", d.srcContext);
    visit("dstContext", d.dstContext);
  }
  visit("WidthInBytes", d.WidthInBytes);
  visit("Height", d.Height);
}

#undef CUVMM_COPY_SIDE
#undef CUVMM_COPY_SIDE_3D

}  // namespace cuvmm
