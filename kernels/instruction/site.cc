// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction/site.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "kernels/instruction/names.h"
#include "kernels/run/clock.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

struct SpecialName {
  std::string_view name;
  Special which;
};
// Each cluster has a single block here.
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%clusterid.x", Special::kClusteridX},
    {"%clusterid.y", Special::kClusteridY},
    {"%clusterid.z", Special::kClusteridZ},
    {"%nclusterid.x", Special::kNclusteridX},
    {"%nclusterid.y", Special::kNclusteridY},
    {"%nclusterid.z", Special::kNclusteridZ},
    {"%cluster_ctaid.x", Special::kClusterCtaidX},
    {"%cluster_ctaid.y", Special::kClusterCtaidY},
    {"%cluster_ctaid.z", Special::kClusterCtaidZ},
    {"%cluster_nctaid.x", Special::kClusterNctaidX},
    {"%cluster_nctaid.y", Special::kClusterNctaidY},
    {"%cluster_nctaid.z", Special::kClusterNctaidZ},
    {"%cluster_ctarank", Special::kClusterRank},
    {"%cluster_nctarank", Special::kClusterBlocks},
    {"%laneid", Special::kLaneid},
    {"%warpid", Special::kWarpid},
    {"%nwarpid", Special::kNwarpid},
    {"%smid", Special::kSmid},
    {"%nsmid", Special::kNsmid},
    {"%gridid", Special::kGridid},
    {"%lanemask_eq", Special::kLanemaskEq},
    {"%lanemask_le", Special::kLanemaskLe},
    {"%lanemask_lt", Special::kLanemaskLt},
    {"%lanemask_ge", Special::kLanemaskGe},
    {"%lanemask_gt", Special::kLanemaskGt},
    {"%dynamic_smem_size", Special::kDynamicShared},
    {"%total_smem_size", Special::kTotalShared},
    {"WARP_SZ", Special::kWarpSize},
    // CUDA's cooperative groups read them.
    {"%envreg1", Special::kWorkspaceHigh},
    {"%envreg2", Special::kWorkspaceLow},
};

std::optional<Special> special_named(std::string_view name) {
  for (const SpecialName& each : kSpecials) {
    if (each.name == name) return each.which;
  }
  return std::nullopt;
}

// The bits of a number in the form of a type.
std::uint64_t bits_of(const Operand& operand, Type type) {
  const bool wide = bytes_of(type) == 8;
  if (operand.kind == Operand::Kind::kDouble && type != Type::kNone && !wide) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
  }
  if (operand.kind == Operand::Kind::kSingle && type == Type::kF64) {
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(operand.value));
    return std::bit_cast<std::uint64_t>(static_cast<double>(single));
  }
  return operand.value;
}

}  // namespace

bool Site::expect(std::size_t least, std::size_t most) {
  if (operands() >= least && operands() <= most) return true;
  refuse("it has " + std::to_string(operands()) + " operands");
  return false;
}

namespace {

void add_number(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_result(out, m, [&](unsigned lane) { return a[lane] + i.immediate; });
}

}  // namespace

namespace {

void is_not_zero(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  const Mask set = lanes_where(m, [&](unsigned lane) { return a[lane] != 0; });
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | set;
}

}  // namespace

// The value of `r+4` comes from an instruction of its own.
std::uint32_t Site::sum(const Operand& operand, std::uint32_t slot, Type type) {
  if (is_float(type)) refuse_offset(operand);
  Instruction before;
  before.run = best<add_number>();
  before.line = statement.at.line;
  before.v[0] = names_.new_register();
  before.a = slot;
  before.immediate = operand.value;
  names_.before().push_back(before);
  return before.v[0];
}

void Site::refuse_offset(const Operand& operand) {
  if (operand.value != 0) refuse("`" + std::string(operand.name) + "` plus a number");
}

std::uint32_t Site::source(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::Kind::kInteger:
    case Operand::Kind::kSingle:
    case Operand::Kind::kDouble:
      return names_.constant(bits_of(operand, type));
    case Operand::Kind::kName:
      break;
    default:
      refuse("an operand of a kind that it does not have here");
      return 0;
  }
  if (operand.negated) refuse("`!` before what is no predicate");
  const Symbol symbol = names_.find(operand.name);
  switch (symbol.kind) {
    case Symbol::Kind::kRegister:
      return operand.value == 0 ? symbol.slot : sum(operand, symbol.slot, type);
    case Symbol::Kind::kVariable:
      if (symbol.framed) {
        Operand inside = operand;
        inside.value += symbol.address;
        return sum(inside, names_.frame(), Type::kU64);
      }
      return names_.constant(symbol.address + operand.value);
    case Symbol::Kind::kDynamicShared:
      return names_.dynamic_shared(operand.value);
    default:
      break;
  }
  refuse_offset(operand);
  if (const auto which = special_named(operand.name)) return names_.special(*which);
  if (const Run read = clock_named(operand.name)) {
    Instruction before;
    before.run = read;
    before.line = statement.at.line;
    before.v[0] = names_.new_register();
    names_.before().push_back(before);
    return before.v[0];
  }
  if (const std::uint64_t code = names_.module().address_of(operand.name))
    return names_.constant(code);
  refuse("`" + std::string(operand.name) + "` is not known");
  return 0;
}

std::uint32_t Site::target(const Operand& operand) {
  if (operand.kind == Operand::Kind::kName && operand.name == "_") return names_.new_register();
  const Symbol symbol = operand.kind == Operand::Kind::kName ? names_.find(operand.name) : Symbol{};
  if (symbol.kind != Symbol::Kind::kRegister || operand.negated) {
    refuse("what is written is no register");
  }
  refuse_offset(operand);
  return symbol.slot;
}

bool Site::is_predicate(const Operand& operand) {
  return operand.kind == Operand::Kind::kName &&
         names_.find(operand.name).kind == Symbol::Kind::kPredicate;
}

std::uint32_t Site::predicate(const Operand& operand, Mask& invert) {
  if (operand.kind == Operand::Kind::kInteger) {
    invert = operand.value != 0 ? 0 : kAll;
    return 0;
  }
  invert = operand.negated ? kAll : 0;
  if (operand.name == "%is_explicit_cluster") {
    Instruction before;
    before.run = is_not_zero;
    before.line = statement.at.line;
    before.a = names_.special(Special::kHasClusters);
    before.p = names_.new_predicate();
    names_.before().push_back(before);
    return before.p;
  }
  const Symbol symbol = names_.find(operand.name);
  if (operand.kind != Operand::Kind::kName || symbol.kind != Symbol::Kind::kPredicate) {
    refuse("an operand that is no predicate");
  }
  refuse_offset(operand);
  return symbol.slot;
}

std::uint32_t Site::predicate_target(const Operand& operand) {
  if (operand.kind == Operand::Kind::kName && operand.name == "_") return names_.new_predicate();
  if (!is_predicate(operand) || operand.negated) {
    refuse("what is written is no predicate");
    return 0;
  }
  refuse_offset(operand);
  return names_.find(operand.name).slot;
}

void Site::address(const Operand& operand, Space space) {
  out.space = space;
  if (operand.kind != Operand::Kind::kAddress) return refuse("an address is expected");
  out.immediate = operand.value;
  if (operand.name.empty()) return;
  const Symbol symbol = names_.find(operand.name);
  switch (symbol.kind) {
    case Symbol::Kind::kRegister:
      out.a = symbol.slot;
      return;
    case Symbol::Kind::kVariable:
      // An argument of a call is `.param` in the text, and lies in local memory.
      out.space = symbol.space;
      if (symbol.framed) out.immediate += symbol.address;
      out.a = symbol.framed ? names_.frame() : names_.constant(symbol.address);
      return;
    case Symbol::Kind::kDynamicShared:
      out.space = Space::kShared;
      out.a = names_.dynamic_shared(0);
      return;
    default:
      refuse("`" + std::string(operand.name) + "` is not known");
  }
}

std::uint32_t Site::carry() { return names_.carry(); }

void Site::add_before(Instruction before) {
  before.guard = out.guard;
  before.invert = out.invert;
  names_.before().push_back(before);
}

std::uint32_t Site::new_register() { return names_.new_register(); }

std::size_t Site::keep(std::vector<std::uint32_t>&& slots) {
  names_.code().lists.push_back(std::move(slots));
  return names_.code().lists.size() - 1;
}

bool Site::has_constants() const {
  return std::ranges::any_of(names_.module().variables,
                             [](const Variable& each) { return each.space == Space::kConst; });
}

}  // namespace cuvmm::kernels
