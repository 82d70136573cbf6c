// SPDX-License-Identifier: Apache-2.0
// Fragments of matrices: wmma.load, wmma.mma and wmma.store. The documentation leaves open which
// element lies in which register, so the order here is this file's own: element e of a matrix, row
// by row, is number e / 32 of lane e % 32. Where a lane has more places than elements, they repeat.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

struct Extents {
  unsigned m, n, k;
};
constexpr std::string_view kShapes[] = {"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4"};
constexpr Extents kExtents[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}, {8, 8, 4}};

enum Which : std::uint8_t { kOfA, kOfB, kSum };

unsigned rows(const Extents& shape, unsigned which) { return which == kOfB ? shape.k : shape.m; }
unsigned columns(const Extents& shape, unsigned which) { return which == kOfA ? shape.k : shape.n; }
unsigned elements_of(const Extents& shape, unsigned which) {
  return rows(shape, which) * columns(shape, which);
}

enum Kind : std::uint8_t { kF16, kBf16, kTf32, kS8, kU8, kF64, kF32, kS32 };
constexpr std::string_view kKinds[] = {"f16", "bf16", "tf32", "s8", "u8", "f64", "f32", "s32"};
constexpr unsigned kBytes[] = {2, 2, 4, 1, 1, 8, 4, 4};

unsigned per_register(unsigned kind) { return kind == kF64 ? 1 : 4 / kBytes[kind]; }

std::uint64_t field(std::uint64_t bits, unsigned at, unsigned kind) {
  const unsigned width = kBytes[kind] * 8;
  return width == 64 ? bits : bits >> (at * width) & ((std::uint64_t{1} << width) - 1);
}

double number(std::uint64_t bits, unsigned kind) {
  switch (kind) {
    case kF16:
      return Small<kHalf, 1>::load(bits);
    case kBf16:
      return Small<kBrain, 1>::load(bits);
    case kTf32:
      return static_cast<double>(F32::load(bits & 0xffffe000));
    case kS8:
      return get<std::int8_t>(bits);
    case kU8:
      return get<std::uint8_t>(bits);
    case kF64:
      return F64::load(bits);
    case kS32:
      return get<std::int32_t>(bits);
    default:
      return static_cast<double>(F32::load(bits));
  }
}

std::uint64_t bits_of(double value, unsigned kind, bool saturates) {
  constexpr double kLeast = -0x1p31, kMost = 0x1p31 - 1;
  switch (kind) {
    case kF16:
      return Small<kHalf, 1>::store(value);
    case kF64:
      return F64::store(value);
    case kS32:
      return static_cast<std::uint32_t>(
          static_cast<std::int64_t>(saturates ? std::clamp(value, kLeast, kMost) : value));
    default:
      return F32::store(static_cast<float>(value));
  }
}

// The bits of all elements, row by row.
std::vector<std::uint64_t> gathered(Warp& warp, const std::uint32_t* slots, unsigned elements,
                                    unsigned kind) {
  std::vector<std::uint64_t> out(elements);
  const unsigned each = per_register(kind);
  for (unsigned e = 0; e < elements; ++e) {
    const unsigned place = e / kLanes;
    out[e] = field(warp.reg(slots[place / each])[e % kLanes], place % each, kind);
  }
  return out;
}

void scatter(Warp& warp, const std::uint32_t* slots, std::size_t registers, unsigned kind,
             const std::vector<std::uint64_t>& in) {
  const unsigned each = per_register(kind), width = kBytes[kind] * 8;
  const auto own = static_cast<unsigned>(in.size() / kLanes);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned r = 0; r < registers; ++r) {
      std::uint64_t bits = 0;
      for (unsigned at = 0; at < each; ++at)
        bits |= in[std::size_t{(r * each + at) % own} * kLanes + lane] << (at * width % 64);
      warp.reg(slots[r])[lane] = bits;
    }
  }
}

// option: the shape; flags: which matrix, 4 where columns lie behind each other; count: the kind;
// target: the list of registers; b: the stride in elements, 0 where the matrix has no gaps
std::uint64_t offset_of(Warp& warp, const Instruction& i, unsigned element, unsigned lane) {
  const unsigned which = i.flags & 3, wide = columns(kExtents[i.option], which);
  const std::uint64_t row = element / wide, column = element % wide;
  const bool by_column = i.flags & 4;
  const std::uint64_t packed = by_column ? rows(kExtents[i.option], which) : wide;
  const std::uint64_t stride = i.b ? static_cast<std::uint32_t>(warp.reg(i.b)[lane]) : packed;
  return (by_column ? column * stride + row : row * stride + column) * kBytes[i.count];
}

template <bool kLoad>
void move_fragment(Warp& warp, const Instruction& i, Mask) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.target];
  const unsigned elements = elements_of(kExtents[i.option], i.flags & 3), bytes = kBytes[i.count];
  std::vector<std::uint64_t> bits(elements);
  if (!kLoad) bits = gathered(warp, slots.data(), elements, i.count);
  for (unsigned e = 0; e < elements; ++e) {
    const unsigned lane = e % kLanes;
    const std::uint64_t address = warp.reg(i.a)[lane] + i.immediate + offset_of(warp, i, e, lane);
    char* const at = warp.at(i, lane, address, bytes, !kLoad);
    if (!at) return;
    if (kLoad) {
      std::memcpy(&bits[e], at, bytes);
    } else {
      std::memcpy(at, &bits[e], bytes);
    }
  }
  if (kLoad) scatter(warp, slots.data(), slots.size(), i.count, bits);
}

/// The operands of a wmma.mma, from a register of the list on.
struct Operands {
  std::uint32_t a, b, c, d, end;
};

// option: the shape; flags: the kind of a and, 16 times, of b; count: of c and, 16 times, of d;
// target: the list of registers, whose first five entries are those of Operands; q 1: .satfinite.
// Sums of floating point are rounded once, but those of f64 at each step.
void multiply_fragments(Warp& warp, const Instruction& i, Mask) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.target];
  const Operands at{slots[0], slots[1], slots[2], slots[3], slots[4]};
  const Extents& shape = kExtents[i.option];
  const unsigned of_a = i.flags & 15, of_b = i.flags >> 4, of_c = i.count & 15, of_d = i.count >> 4;
  const auto read = [&](std::uint32_t from, unsigned which, unsigned kind) {
    std::vector<double> out;
    for (const std::uint64_t bits : gathered(warp, &slots[from], elements_of(shape, which), kind))
      out.push_back(number(bits, kind));
    return out;
  };
  const auto a = read(at.a, kOfA, of_a), b = read(at.b, kOfB, of_b), c = read(at.c, kSum, of_c);
  std::vector<std::uint64_t> d(c.size());
  for (unsigned row = 0; row < shape.m; ++row) {
    for (unsigned column = 0; column < shape.n; ++column) {
      const std::size_t e = std::size_t{row} * shape.n + column;
      double sum = of_d == kF64 ? c[e] : 0;
      for (unsigned k = 0; k < shape.k; ++k) {
        const double x = a[std::size_t{row} * shape.k + k],
                     y = b[std::size_t{k} * shape.n + column];
        sum = of_d == kF64 ? std::fma(x, y, sum) : sum + x * y;
      }
      d[e] = bits_of(of_d == kF64 ? sum : sum + c[e], of_d, i.q != 0);
    }
  }
  scatter(warp, &slots[at.d], at.end - at.d, of_d, d);
}

void converge_all(Site& site) {
  Operand all;
  all.kind = Operand::Kind::kInteger;
  all.value = kAll;
  site.out.flow = Flow::kConverge;
  site.out.e = site.source(all, Type::kB32);
}

// Whether registers of this number hold the elements of a matrix.
bool fits(const Extents& shape, unsigned which, unsigned kind, std::size_t registers) {
  const std::size_t places = registers * per_register(kind);
  const unsigned own = elements_of(shape, which) / kLanes;
  return places >= own && places % own == 0;
}

void decode_move(Site& site, bool loads) {
  constexpr std::string_view kMatrices[] = {"a", "b", "c"};
  Modifiers& modifiers = site.modifiers;
  const std::size_t which = loads                 ? modifiers.take_one(kMatrices, 3)
                            : modifiers.take("d") ? std::size_t{kSum}
                                                  : 3;
  const bool by_row = modifiers.take("row"), by_column = modifiers.take("col");
  const std::size_t shape = modifiers.take_one(kShapes, std::size(kShapes));
  const Space space = modifiers.take_space();
  const std::size_t kind = modifiers.take_one(kKinds, std::size(kKinds));
  if (which == 3 || by_row == by_column || shape == std::size(kShapes) || kind == std::size(kKinds))
    return site.refuse("it is not known in this form");
  if (!site.expect(2, 3)) return;
  const Operand& values = site.operand(loads ? 0 : 1);
  if (!fits(kExtents[shape], static_cast<unsigned>(which), static_cast<unsigned>(kind),
            values.parts.size()))
    return site.refuse("a vector of another size");
  std::vector<std::uint32_t> slots;
  for (const Operand& each : values.parts)
    slots.push_back(loads ? site.target(each) : site.source(each, Type::kB32));
  site.address(site.operand(loads ? 1 : 0), space);
  if (site.operands() == 3) site.out.b = site.source(2, Type::kU32);
  site.out.option = static_cast<std::uint8_t>(shape);
  site.out.flags = static_cast<std::uint8_t>(which | (by_column ? 4U : 0U));
  site.out.count = static_cast<std::uint8_t>(kind);
  site.out.target = static_cast<std::uint32_t>(site.keep(std::move(slots)));
  site.out.run = loads ? move_fragment<true> : move_fragment<false>;
  converge_all(site);
}

// Takes the kinds of d, a, b and c; of d and c alone where a and b are of f16.
bool take_kinds(Modifiers& modifiers, std::size_t (&kinds)[4]) {
  std::vector<std::size_t> found;
  while (found.size() < 4) {
    const std::size_t kind = modifiers.take_one(kKinds, std::size(kKinds));
    if (kind == std::size(kKinds)) break;
    found.push_back(kind);
  }
  if (found.size() == 2) found = {found[0], kF16, kF16, found[1]};
  if (found.size() != 4) return false;
  std::copy(found.begin(), found.end(), kinds);
  const auto [d, a, b, c] = kinds;
  const bool bytes = (a == kS8 || a == kU8) && (b == kS8 || b == kU8);
  if (bytes) return d == kS32 && c == kS32;
  if (a != b) return false;
  if (a == kF16) return (d == kF16 || d == kF32) && (c == kF16 || c == kF32);
  return a == kF64 ? d == kF64 && c == kF64 : (a == kBf16 || a == kTf32) && d == kF32 && c == kF32;
}

void decode_multiply(Site& site) {
  Modifiers& modifiers = site.modifiers;
  // The order of rows and columns has had its effect at the loads.
  for (int matrix = 0; matrix < 2; ++matrix) {
    if (!modifiers.take("row") && !modifiers.take("col"))
      return site.refuse("it is not known in this form");
  }
  const std::size_t shape = modifiers.take_one(kShapes, std::size(kShapes));
  std::size_t kinds[4] = {};
  if (shape == std::size(kShapes) || !take_kinds(modifiers, kinds))
    return site.refuse("it is not known for its types");
  site.out.q = modifiers.take("satfinite") ? 1 : 0;
  if (kinds[0] == kF64) modifiers.take("rn");
  if (site.out.q && kinds[0] != kS32) return site.refuse("it is not known for its types");
  if (!site.expect(4)) return;
  constexpr std::uint8_t kMatrices[] = {kSum, kOfA, kOfB, kSum};
  for (std::size_t at = 0; at < 4; ++at) {
    if (!fits(kExtents[shape], kMatrices[at], static_cast<unsigned>(kinds[at]),
              site.operand(at).parts.size()))
      return site.refuse("a vector of another size");
  }
  std::vector<std::uint32_t> slots(5);
  constexpr std::size_t kOrder[] = {1, 2, 3, 0};  // a, b, c, d
  for (std::size_t place = 0; place < 4; ++place) {
    slots[place] = static_cast<std::uint32_t>(slots.size());
    for (const Operand& each : site.operand(kOrder[place]).parts)
      slots.push_back(place == 3 ? site.target(each) : site.source(each, Type::kB32));
  }
  slots[4] = static_cast<std::uint32_t>(slots.size());
  site.out.option = static_cast<std::uint8_t>(shape);
  site.out.flags = static_cast<std::uint8_t>(kinds[1] | kinds[2] << 4);
  site.out.count = static_cast<std::uint8_t>(kinds[3] | kinds[0] << 4);
  site.out.target = static_cast<std::uint32_t>(site.keep(std::move(slots)));
  site.out.run = multiply_fragments;
  converge_all(site);
}

void decode_wmma(Site& site) {
  Modifiers& modifiers = site.modifiers;
  const bool load = modifiers.take("load"), store = modifiers.take("store");
  const bool multiply = modifiers.take("mma");
  const bool whole = modifiers.take("sync") && modifiers.take("aligned");
  if (!whole || load + store + multiply != 1) return site.refuse("it is not known in this form");
  return multiply ? decode_multiply(site) : decode_move(site, load);
}

constexpr Opcode kOpcodes[] = {{"wmma", decode_wmma}};

}  // namespace

std::span<const Opcode> fragment_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
