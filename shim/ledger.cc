#include "shim/ledger.h"

#include "shim/json_report.h"

namespace cuvmm::shim {

namespace {

std::uintptr_t call_site(StackId stack) {
  const auto frames = stack_frames(stack);
  return frames.empty() ? 0 : frames.front();
}

Entry* describe(Finding finding) {
  auto* entry = new Entry();
  entry->finding = std::move(finding);
  entry->stack = symbolize(entry->finding.stack);
  for (const ObjectRef& object : entry->finding.violation.objects) {
    entry->object_stacks.push_back(symbolize(object.made.stack));
    entry->ended_stacks.push_back(symbolize(object.ended.stack));
  }
  entry->json = finding_members(*entry);
  return entry;
}

void add(Totals& totals, RuleKind kind, std::uint64_t count) {
  switch (kind) {
    case RuleKind::kError:
      totals.errors += count;
      break;
    case RuleKind::kUndefined:
      totals.undefined += count;
      break;
    case RuleKind::kLeak:
      totals.leaks += count;
      break;
    case RuleKind::kAdvice:
      totals.advice += count;
      break;
  }
}

}  // namespace

bool Ledger::suppressed_by_stack(const Finding& finding) {
  if (suppressions_.empty()) return false;
  const Rule rule = finding.violation.rule;
  const char* id = info(rule).id;
  const std::pair key(rule, finding.stack);
  {
    const std::lock_guard lock(mutex_);
    const auto known = decisions_.find(key);
    if (known != decisions_.end()) return known->second;
  }
  std::vector<Frame> frames;
  if (suppressions_.needs_stack(id)) frames = symbolize(finding.stack);
  const bool suppressed = suppressions_.matches(id, frames);
  const std::lock_guard lock(mutex_);
  decisions_.emplace(key, suppressed);
  return suppressed;
}

bool Ledger::fold(const Key& key) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return false;
  known->second->count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Ledger::take(Finding finding) {
  if (suppressed_by_stack(finding)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const Key key(finding.violation.rule, finding.entry, call_site(finding.stack));
  {
    const std::lock_guard lock(mutex_);
    if (fold(key)) return;
  }
  // Two threads may describe the same finding at once; the second one folds into the first.
  Entry* entry = describe(std::move(finding));
  {
    const std::lock_guard lock(mutex_);
    if (fold(key)) {
      delete entry;
      return;
    }
    entries_.emplace(key, entry);
    (last_ ? last_->next : first_).store(entry, std::memory_order_release);
    last_ = entry;
  }
  announce_(*entry);
}

Totals Ledger::totals() const {
  Totals totals;
  for (const Entry* entry = first(); entry; entry = entry->next.load(std::memory_order_acquire)) {
    add(totals, info(entry->finding.violation.rule).kind,
        entry->count.load(std::memory_order_relaxed));
  }
  return totals;
}

void Ledger::clear() {
  first_.store(nullptr);
  last_ = nullptr;
  entries_.clear();
  decisions_.clear();
  suppressed_.store(0);
}

}  // namespace cuvmm::shim
