// SPDX-License-Identifier: Apache-2.0
// Judges answers, finds objects, and lists the objects that remain at the end.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

bool Judgement::breaks(Rule rule) const {
  for (int i = 0; i < count; ++i) {
    if (broken[i] == rule) return true;
  }
  return false;
}

bool Judgement::legal() const {
  if (foreign) return false;
  for (int i = 0; i < count; ++i) {
    if (info(broken[i]).kind != RuleKind::kAdvice) return false;
  }
  return true;
}

bool Judgement::accepts(const Profile& profile, EntryPoint entry, CUresult answer) const {
  if (loose) return true;
  if (foreign || ended_memory) return answer != CUDA_SUCCESS;
  if (may_refuse && answer == CUDA_ERROR_INVALID_VALUE) return true;
  if (may_succeed && answer == CUDA_SUCCESS) return true;
  if (may_run_out && answer == CUDA_ERROR_OUT_OF_MEMORY) return true;
  if (demands()) {
    if (std::find(demanded, demanded + demanded_count, answer) != demanded + demanded_count) {
      return true;
    }
  }
  bool refused = demands(), mixed = false;
  for (int i = 0; i < quirk_count; ++i) {
    if (!profile.has(quirks[i])) continue;
    if (quirks[i] == Quirk::kRangeMixed) {
      mixed = true;
      continue;
    }
    refused = true;
    if (info(quirks[i]).code == answer) return true;
  }
  for (int i = 0; i < count; ++i) {
    if (mixed && broken[i] == Rule::kRangeOneDevice) continue;
    const Verdict& verdict = profile.verdict(entry, broken[i]);
    if (verdict.kind == Verdict::Kind::kAccepts || verdict.code == CUDA_SUCCESS) continue;
    refused = true;
    if (verdict.code == answer) return true;
  }
  if (refused) return false;
  return answer == CUDA_SUCCESS || (memory_may_lack && answer == CUDA_ERROR_OUT_OF_MEMORY);
}

bool Judgement::crashes(const Profile& profile, EntryPoint entry) const {
  for (int i = 0; i < count; ++i) {
    if (profile.verdict(entry, broken[i]).kind == Verdict::Kind::kCrashes) return true;
  }
  return false;
}

bool Judgement::dangerous(const Profile& profile, EntryPoint entry) const {
  static constexpr Rule kDangers[] = {Rule::kReleaseHandleValid, Rule::kReleasePairing,
                                      Rule::kPropertiesHandleValid, Rule::kPropertiesHandleAlive,
                                      Rule::kMapHandleValid, Rule::kMapHandleAlive,
                                      Rule::kExportHandleValid, Rule::kExportHandleAlive,
                                      // Beyond its reservation lies memory of the driver.
                                      Rule::kMapInsideReservation, Rule::kUnmapInsideReservation};
  for (const Rule rule : kDangers) {
    if (breaks(rule)) return true;
  }
  return foreign || ended_memory || fatal || crashes(profile, entry);
}

void Reference::clear() {
  cells_.clear();
  ranges_.clear();
  mappings_.clear();
  memories_.clear();
  handles_.clear();
  descriptors_.clear();
  plain_.clear();
  external_.clear();
  teams_.clear();
  endpoints_.clear();
  pool_state_.clear();
  arrays_.clear();
  captures_.clear();
}

const Reference::Cell* Reference::cell_at(std::uint64_t address) const {
  for (const Cell& cell : cells_) {
    if (address >= cell.address && address - cell.address < kGranule) return &cell;
  }
  return nullptr;
}

const Reference::Cell* Reference::mapped_at(std::uint64_t address) const {
  const Cell* cell = cell_at(address);
  return cell && cell->mapping >= 0 ? cell : nullptr;
}

const CUmemAllocationProp& Reference::prop_of(const Cell& cell) const {
  const Mapped& m = mappings_[static_cast<std::size_t>(cell.mapping)];
  const Named& named = handles_[static_cast<std::size_t>(m.handle)];
  return memories_[static_cast<std::size_t>(named.memory)].prop;
}

bool Reference::meets(const Cell& cell, std::uint64_t base, std::uint64_t size) {
  return cell.address >= base ? cell.address - base < size : base - cell.address < kGranule;
}

const Reference::Named* Reference::handle(std::uint64_t value) const {
  const Named* last = nullptr;
  for (const Named& named : handles_) {
    if (named.value == value && (!last || named.alive() || !last->alive())) last = &named;
  }
  return last;
}

std::vector<Reference::Span> Reference::mapped() const {
  std::vector<Span> out;
  out.reserve(mappings_.size());
  for (const Mapped& m : mappings_) {
    if (m.live) out.push_back({m.base, m.size});
  }
  return out;
}

std::vector<Reference::Span> Reference::reserved() const {
  std::vector<Span> out;
  out.reserve(ranges_.size());
  for (const Range& r : ranges_) {
    if (r.live) out.push_back({r.base, r.size});
  }
  return out;
}

std::vector<std::uint64_t> Reference::references() const {
  std::vector<std::uint64_t> out;
  out.reserve(handles_.size());
  for (const Named& named : handles_) {
    for (int i = 0; i < named.references; ++i) out.push_back(named.value);
  }
  return out;
}

std::vector<int> Reference::descriptors() const {
  std::vector<int> out;
  for (const Descriptor& d : descriptors_) {
    if (d.open) out.push_back(d.fd);
  }
  return out;
}

void Reference::opened(int fd) {
  close(fd);
  external_.opened(fd, other());
}

void Reference::close(int fd) {
  for (Descriptor& d : descriptors_) {
    if (d.fd == fd) d.open = false;
  }
}

}  // namespace cuvmm::fuzz
