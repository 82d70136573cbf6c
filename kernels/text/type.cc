// SPDX-License-Identifier: Apache-2.0
#include "kernels/text/type.h"

#include <iterator>

namespace cuvmm::kernels {

namespace {

struct Known {
  std::string_view name;
  unsigned bytes;
};
// In the order of Type.
constexpr Known kTypes[] = {{"", 0},       {"pred", 1},  {"b8", 1},  {"b16", 2},   {"b32", 4},
                            {"b64", 8},    {"b128", 16}, {"u8", 1},  {"u16", 2},   {"u32", 4},
                            {"u64", 8},    {"s8", 1},    {"s16", 2}, {"s32", 4},   {"s64", 8},
                            {"u16x2", 4},  {"s16x2", 4}, {"f16", 2}, {"f16x2", 4}, {"bf16", 2},
                            {"bf16x2", 4}, {"f32", 4},   {"f64", 8}};

}  // namespace

Type type_named(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return Type::kNone;
}

unsigned bytes_of(Type type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

bool is_float(Type type) { return type >= Type::kF16; }

bool is_signed(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

Space space_named(std::string_view name) {
  if (name == "reg") return Space::kRegister;
  if (name == "global") return Space::kGlobal;
  if (name == "const") return Space::kConst;
  if (name == "shared" || name == "shared::cta" || name == "shared::cluster") return Space::kShared;
  if (name == "local") return Space::kLocal;
  if (name == "param" || name == "param::entry" || name == "param::func") return Space::kParam;
  return Space::kNone;
}

}  // namespace cuvmm::kernels
