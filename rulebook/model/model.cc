// SPDX-License-Identifier: Apache-2.0
#include "rulebook/model/model.h"

#include <cassert>
#include <utility>

namespace cuvmm {

void Model::begin(const Ending& ending, Origin at, Retired& retired) {
  retired.begun = true;
  if (ending.empty()) return;
  retired.more().context.ending = true;
  ends_meanwhile_.begin();
  ipc_.begin(ending, at, around(), retired);
  external_.begin(ending, at, around(), retired);
  pools_.begin(ending, at, around(), retired);
  memory_.begin(ending, at, around(), retired);
  arrays_.begin(ending, at, around(), retired);
  tiles_.begin(ending, at, around(), retired);  // the tiles of the arrays that end
}

void Model::confirm_rare(const RarelyRetired& taken, Origin at) {
  external_.confirm(taken, at, around());
  ipc_.confirm(taken, at, around());
  pools_.confirm(taken, at, around());
  memory_.confirm(taken, at, around());
  arrays_.confirm(taken, at, around());
  if (taken.context.ending) ends_meanwhile_.end();
}

void Model::undo_all(Retired& retired, Origin at) {
  if (!retired.begun) return;
  vmm_.undo(retired, at, tombstones_);
  if (!retired.rare) return;
  const RarelyRetired& taken = *retired.rare;
  external_.undo(taken, at, around());
  multicast_.undo(taken, at, around());
  endpoints_.undo(taken, at, around());
  ipc_.undo(taken, at, around());
  pools_.undo(taken, at, around());
  arrays_.undo(taken, at, around());
  tiles_.undo(taken, at, around());
  memory_.undo(taken, at, around());
  if (taken.context.ending) ends_meanwhile_.end();
}

void Model::import_multicast(MulticastObject known, Origin at) {
  vmm_.mark_multicast(known.handle);
  multicast_.imported(std::move(known), at);
}

#ifndef NDEBUG
void Model::verify() const {
  assert(vmm_.consistent());
  assert(pools_.consistent());
  assert(memory_.consistent());
}
#endif

void Model::clear() {
  vmm_.clear();
  multicast_ = {};
  endpoints_ = {};
  tiles_ = {};
  descriptors_ = {};
  ipc_ = {};
  pools_ = {};
  external_ = {};
  memory_ = {};
  arrays_ = {};
  ends_meanwhile_ = {};
  tombstones_.clear();
}

}  // namespace cuvmm
