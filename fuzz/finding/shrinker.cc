// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/shrinker.h"

#include <algorithm>
#include <set>

namespace cuvmm::fuzz {

namespace {

constexpr Simpler kSimpler[] = {{Code::kMcBindAddr, Code::kMcBindMem},  // no range, no mapping
                                {Code::kExtBuffer, Code::kAlloc},
                                {Code::kPoolAlloc, Code::kAlloc},
                                {Code::kCopy, Code::kWrite}};

class Shrinker {
 public:
  Shrinker(Ops ops, const std::function<bool(const Ops&)>& shows, ShrinkLimits limits)
      : ops_(std::move(ops)), shows_(shows), tries_(limits) {}

  ShrinkResult run() {
    drop_tail();
    one_process();
    keep_related();
    for (bool again = true; again;) {
      const auto size = [this] { return ops_.size(); };
      again = drop_runs(0, size, [this](std::size_t first, std::size_t count) {
        return attempt(without(ops_, first, count));
      });
      again = again || drop_pair(0, size, [this](std::size_t first, std::size_t second) {
                return attempt(without(without(ops_, second, 1), first, 1));
              });
      again = merge_names() || again;
      again = smaller_teams() || again;
      again = no_descriptor() || again;
      again = simpler() || again;
      again = plain_fields() || again;
    }
    return {ops_, tries_.made()};
  }

 private:
  bool attempt(Ops candidate) {
    for (Op& op : candidate) canonicalise(op);
    if (candidate == ops_) return false;
    if (!seen_.insert(encode(candidate)).second) return false;
    if (!tries_.next() || !shows_(candidate)) return false;
    ops_ = std::move(candidate);
    return true;
  }

  static Ops without(const Ops& ops, std::size_t first, std::size_t count) {
    Ops out(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(first));
    out.insert(out.end(), ops.begin() + static_cast<std::ptrdiff_t>(first + count), ops.end());
    return out;
  }

  // Moves all calls to one process where the second process is not needed.
  void one_process() {
    Ops candidate = ops_;
    for (Op& op : candidate) op.actor = process_of(op) ? 0 : op.actor;
    attempt(std::move(candidate));
  }

  // Drops the calls after the one that shows the problem.
  void drop_tail() {
    std::size_t low = 0;
    while (low < ops_.size()) {
      const std::size_t middle = low + (ops_.size() - low) / 2;
      if (!attempt(Ops(ops_.begin(), ops_.begin() + static_cast<std::ptrdiff_t>(middle)))) {
        low = middle + 1;
      }
    }
  }

  // Drops in one step all calls that share no name with the last call, directly or through others.
  void keep_related() {
    if (ops_.empty()) return;
    std::set<std::pair<NameKind, std::uint8_t>> names;
    std::vector<bool> keep(ops_.size());
    const auto touches = [&](const Op& op, bool add) {
      const Shape& s = shape(op.code);
      bool any = false;
      const auto one = [&](NameKind kind, std::uint8_t name) {
        if (kind == NameKind::kNone || name == 0) return;
        any = any || names.contains({kind, name});
        if (add) names.insert({kind, name});
      };
      one(s.makes, op.name);
      one(s.ref, op.ref);
      one(s.ref2, op.ref2);
      return any;
    };
    touches(ops_.back(), true);
    keep.back() = true;
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (keep[i] || !touches(ops_[i], false)) continue;
        touches(ops_[i], true);
        keep[i] = again = true;
      }
    }
    Ops related;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (keep[i] || ops_[i].code == Code::kContext) related.push_back(ops_[i]);
    }
    attempt(related);
  }

  static NameKind kind_of(const Op& op, bool second) {
    return second ? shape(op.code).ref2 : shape(op.code).ref;
  }

  bool merge(std::size_t i, bool second, std::uint8_t name) {
    bool any = false;
    const auto side = [second](Op & op, std::uint8_t Op::*first, std::uint8_t Op::*other) -> auto& {
      return op.*(second ? other : first);
    };
    if (side(ops_[i], &Op::ref, &Op::ref2) > name) {
      Ops candidate = ops_;
      side(candidate[i], &Op::ref, &Op::ref2) = name;
      any = attempt(std::move(candidate));
    }
    // Values are used again: the name of an ended object may have the value of a later object.
    const std::uint8_t old = side(ops_[i], &Op::ref, &Op::ref2);
    for (std::size_t at = i; old != 0 && old != name && at-- > 0;) {
      const Shape& made = shape(ops_[at].code);
      if (ops_[at].name != old || made.makes != kind_of(ops_[i], second)) continue;
      Ops candidate = ops_;
      side(candidate[i], &Op::ref, &Op::ref2) = name;
      if (attempt(without(candidate, at, 1))) return true;
      break;
    }
    // The address beside one object may belong to another.
    if (side(ops_[i], &Op::at, &Op::at2) != 0 || side(ops_[i], &Op::odd, &Op::odd2) != 0) {
      Ops candidate = ops_;
      side(candidate[i], &Op::ref, &Op::ref2) = name;
      side(candidate[i], &Op::at, &Op::at2) = side(candidate[i], &Op::odd, &Op::odd2) = 0;
      any = attempt(std::move(candidate)) || any;
    }
    return any;
  }

  // Makes a multicast object for one device less, and drops that device's add.
  bool smaller_teams() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].code != Code::kMcCreate || ops_[i].extra < 2) continue;
      for (std::size_t j = i + 1; j < ops_.size(); ++j) {
        if (ops_[j].code != Code::kMcAddDevice || ops_[j].ref != ops_[i].name) continue;
        Ops candidate = ops_;
        --candidate[i].extra;
        if (attempt(without(candidate, j, 1))) return true;
      }
    }
    return false;
  }

  // Replaces a wrong descriptor by one that does not exist, which needs no call to make it.
  bool no_descriptor() {
    bool any = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (shape(ops_[i].code).ref != NameKind::kDescriptor || ops_[i].ref == 0) continue;
      Ops candidate = ops_;
      candidate[i].ref = 0;
      candidate[i].extra = ops_[i].code == Code::kImport ? 1 : kWild;
      any = attempt(std::move(candidate)) || any;
    }
    return any;
  }

  bool simpler() {
    bool any = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (const Simpler& s : kSimpler) any = (ops_[i].code == s.code && simpler(i, s)) || any;
    }
    return any;
  }

  // References of another kind are tried with each name of that kind.
  bool simpler(std::size_t i, const Simpler& s) {
    const Shape &before = shape(s.code), &after = shape(s.instead);
    Op op = ops_[i];
    op.code = s.instead;
    const auto attempt_with = [&] {
      Ops candidate = ops_;
      candidate[i] = op;
      return attempt(std::move(candidate));
    };
    if (after.ref2 == before.ref2 || after.ref2 == NameKind::kNone) return attempt_with();
    op.at2 = op.odd2 = 0;
    for (std::size_t j = 0; j < i; ++j) {
      if (shape(ops_[j].code).makes != after.ref2 || ops_[j].name == op.ref) continue;
      op.ref2 = ops_[j].name;
      if (attempt_with()) return true;
    }
    return false;
  }

  // Replaces two objects by one: references go to the oldest name of their kind.
  bool merge_names() {
    bool any = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (const bool second : {false, true}) {
        const NameKind kind = kind_of(ops_[i], second);
        if (kind == NameKind::kNone) continue;
        for (std::size_t j = 0; j < i; ++j) {
          if (shape(ops_[j].code).makes != kind) continue;
          // Another process's number may be valid here by chance.
          const bool own = process_of(ops_[i]) == process_of(ops_[j]);
          if (!own && kind != NameKind::kDescriptor && kind != NameKind::kBlob) continue;
          const std::size_t before = ops_.size();
          any = merge(i, second, ops_[j].name) || any;
          if (ops_.size() < before) return true;  // the indices have changed
        }
      }
    }
    return any;
  }

  // Gives each field its plainest value: 0, 1, or a value that binds no other op's name.
  bool plain_fields() {
    static constexpr std::uint8_t Op::*kFields[] = {
        &Op::actor, &Op::faults, &Op::flags, &Op::odd, &Op::odd2, &Op::odd_size,
        &Op::extra, &Op::place,  &Op::at,    &Op::at2, &Op::size, &Op::value};
    bool any = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (const auto field : kFields) {
        for (const std::uint8_t value : {0, 1, 3}) {
          if (ops_[i].*field <= value) continue;
          Ops candidate = ops_;
          candidate[i].*field = value;
          if (!attempt(std::move(candidate))) continue;
          any = true;
          break;
        }
      }
    }
    // Makes every size of the program one granule smaller at a time: a map, its memory and its
    // access.
    for (std::uint8_t size = 255; size > 1; --size) {
      Ops candidate = ops_;
      bool changed = false;
      for (Op& op : candidate) {
        if (op.code < Code::kFill && op.size == size) op.size = 1, changed = true;
      }
      if (changed) any = attempt(std::move(candidate)) || any;
    }
    return any;
  }

  Ops ops_;
  const std::function<bool(const Ops&)>& shows_;
  Tries tries_;
  std::set<std::vector<std::uint8_t>> seen_;
};

}  // namespace

std::span<const Simpler> simpler_calls() { return kSimpler; }

ShrinkResult shrink(Ops ops, const std::function<bool(const Ops&)>& shows, ShrinkLimits limits) {
  return Shrinker(std::move(ops), shows, limits).run();
}

}  // namespace cuvmm::fuzz
