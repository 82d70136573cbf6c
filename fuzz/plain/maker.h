// SPDX-License-Identifier: Apache-2.0
// Makes calls one at a time that fit the blocks that the program has made so far.
#pragma once

#include <vector>

#include "fuzz/generate/random.h"
#include "fuzz/plain/op.h"

namespace cuvmm::fuzz::plain {

constexpr std::uint8_t byte(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

/// A block that the program has made.
struct Known {
  std::uint8_t name;
  Kind kind;
  std::uint8_t size = 0;  ///< as the block's op names it
  bool live = true;
};

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {
    // The style of a program: some programs make many faults, a few touch memory outside of their
    // blocks.
    faults_ = random_.chance(30) ? 15 : 4;
    wild_ = random_.below(400) == 0;
    contexts_ = random_.chance(35);
  }
  Op make();

 private:
  Code choose();

  // Choose the arguments of a call, by area.
  void memory(Op& op);
  void query(Op& op);
  void data(Op& op);
  void pool(Op& op);

  // Make calls that make or end a block.
  void allocation(Op& op);
  void pitched(Op& op);
  void registration(Op& op);
  void register_again(Op& op);
  void ending(Op& op);
  template <class Fits>
  void freed(Op& op, Fits fits);

  // Make calls about data.
  void sides(Op& op, bool needs_host);
  void by_descriptor(Op& op);
  std::uint8_t contexts_of_sides();

  std::uint8_t below(std::size_t n) { return byte(random_.below(static_cast<std::uint32_t>(n))); }
  /// The name of a block that fits, or 0.
  template <class Fits>
  std::uint8_t any(Fits fits);
  bool fault() { return random_.chance(faults_); }
  std::uint8_t size();
  std::uint8_t place(bool exact);
  void born(Op& op, Kind kind);
  void died(std::uint8_t name);

  Random& random_;
  std::vector<Known> blocks_;
  std::vector<std::uint8_t> pools_;
  std::uint8_t next_ = 1, next_pool_ = 1;
  unsigned faults_ = 0;
  bool wild_ = false, contexts_ = false;
};

template <class Fits>
std::uint8_t Maker::any(Fits fits) {
  std::vector<std::uint8_t> names;
  for (const Known& block : blocks_) {
    if (fits(block)) names.push_back(block.name);
  }
  return names.empty() ? std::uint8_t{0} : names[below(names.size())];
}

}  // namespace cuvmm::fuzz::plain
