// SPDX-License-Identifier: Apache-2.0
#include "shim/report/json_report.h"

#include <cstring>

#include "api/posix/raw_write.h"
#include "shim/output/json.h"

namespace cuvmm::shim {

namespace {

/// Buffered writing to a descriptor with no allocation, for signal handlers too.
class Writer {
 public:
  explicit Writer(int fd) : fd_(fd) {}
  void text(std::string_view text) {
    while (!text.empty()) {
      if (used_ == sizeof buffer_) flush();
      const std::size_t take = std::min(text.size(), sizeof buffer_ - used_);
      std::memcpy(buffer_ + used_, text.data(), take);
      used_ += take;
      text.remove_prefix(take);
    }
  }
  void number(std::uint64_t value) {
    char digits[20];
    std::size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    text({digits + at, sizeof digits - at});
  }
  void member(const char* name, std::uint64_t value, bool first = false) {
    text(first ? "\"" : ",\"");
    text(name);
    text("\":");
    number(value);
  }
  int flush() {
    if (used_ > 0 && error_ == 0) error_ = raw_write(fd_, {buffer_, used_});
    used_ = 0;
    return error_;
  }

 private:
  int fd_;
  int error_ = 0;
  std::size_t used_ = 0;
  char buffer_[8192];
};

// Writes a finding or a refusal: its text was made when it first came, and its counts are written
// as they are now.
template <class Described>
void write_entry(Writer& out, bool& first, const Described& entry, std::string_view more = {}) {
  out.text(first ? "\n{" : ",\n{");
  first = false;
  out.text(entry.json);
  out.member("count", entry.count.load());
  if (const std::uint64_t handled = entry.handled.load()) out.member("handled", handled);
  out.text(more);
  out.text("}");
}

void write_refusals(Writer& out, const Refusals& refusals) {
  out.text(",\n\"refusals\":[");
  bool first = true;
  for (const RefusalEntry* entry = refusals.first(); entry; entry = entry->next.load()) {
    if (!entry->ready.load()) continue;
    // `cuvmm run` prints the others of these if the program fails.
    const bool printed = entry->refusal.forked_from != 0 && !entry->quiet.load();
    write_entry(out, first, *entry, printed ? ",\"printed\":true" : "");
  }
  out.text("]");
}

void write_work(Writer& out, const WorkCounts& work) {
  if (work.launches == 0 && work.unawaited == 0 && work.perhaps_unawaited == 0) return;
  out.text(",\"work\":{");
  out.member("launches", work.launches, true);
  out.member("tracked", work.tracked);
  out.member("by_type", work.by_type);
  out.member("by_value", work.by_value);
  out.member("by_word", work.by_word);
  out.member("hidden", work.hidden);
  out.member("dropped", work.dropped);
  out.member("unawaited", work.unawaited);
  out.member("perhaps_unawaited", work.perhaps_unawaited);
  out.member("hints", work.hints);
  out.text("}");
}

void write_sentence(Writer& out, const char* name, const std::string& sentence) {
  if (sentence.empty()) return;
  out.text(",\"");
  out.text(name);
  out.text("\":");
  out.text(json_string(sentence));
}

void write_findings(Writer& out, const Ledger& ledger) {
  out.text(",\"findings\":[");
  bool first = true;
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    if (!entry->ready()) continue;
    write_entry(out, first, *entry);
  }
}

void write_members(Writer& out, const ReportContext& context, const Ledger& ledger) {
  out.text("{\"schema\":1");
  out.member("pid", static_cast<std::uint64_t>(context.pid));
  out.text(",\"ended\":\"");
  out.text(context.ended);
  out.text("\"");
  if (context.ended_by_thread != 0) out.member("ended_by_thread", context.ended_by_thread);
  out.text(",\"driver\":");
  out.text(context.driver);
  out.text(",\"calls\":{");
  bool first = true;
  for (std::size_t i = 0; i < std::size(context.counts); ++i) {
    if (context.counts[i] == 0) continue;
    out.member(name(static_cast<EntryPoint>(i)), context.counts[i], first);
    first = false;
  }
  out.text("},\"unchecked\":");
  out.text(context.unchecked);
  if (!context.unchecked_calls.empty()) {
    out.text(",\"unchecked_calls\":");
    out.text(context.unchecked_calls);
  }
  if (!context.escaped.empty()) {
    out.text(",\"escaped\":");
    out.text(context.escaped);
  }
  write_findings(out, ledger);
  const Totals totals = ledger.totals();
  out.text("],\n\"summary\":{");
  out.member("error", totals.errors, true);
  out.member("undefined", totals.undefined);
  out.member("leak", totals.leaks);
  out.text("}");
  out.text(context.leaks_judged ? ",\"leaks_judged\":true" : ",\"leaks_judged\":false");
  if (!context.undecided.empty()) {
    out.text(",\"undecided\":");
    out.text(context.undecided);
  }
  out.member("suppressed", ledger.suppressed());
  if (!context.unused.empty()) {
    out.text(",\"unused_suppressions\":");
    out.text(context.unused);
  }
  if (context.expected != 0) out.member("expected", context.expected);
  write_refusals(out, ledger.refusals());
  out.text(",\"alive\":{");
  out.member("allocations", context.alive_allocations, true);
  out.member("bytes", context.alive_bytes);
  out.member("reservations", context.alive_reservations);
  out.text("}");
  if (!context.in_use.empty()) {
    out.text(",\"in_use\":");
    out.text(context.in_use);
  }
  if (!context.ended_with_context.empty()) {
    out.text(",\"ended_with_context\":");
    out.text(context.ended_with_context);
  }
  if (context.in_use_listed) out.text(",\"in_use_listed\":true");
  write_work(out, context.work);
  write_sentence(out, "unawaited_use", context.unawaited_use);
  write_sentence(out, "perhaps_unawaited_use", context.perhaps_unawaited_use);
  if (!context.notes.empty()) {
    out.text(",\"notes\":");
    out.text(context.notes);
  }
  if (!context.fault.empty()) {
    out.text(",\n\"fault\":");
    out.text(context.fault);
  }
  if (!context.ipc.empty()) {
    out.text(",\n\"ipc\":");
    out.text(context.ipc);
  }
  if (!context.stacks.empty()) {
    out.text(",\n\"stacks\":");
    out.text(context.stacks);
  }
  out.text("}\n");
}

}  // namespace

int write_document(int fd, const ReportContext& context, const Ledger& ledger) noexcept {
  Writer out(fd);
  write_members(out, context, ledger);
  return out.flush();
}

}  // namespace cuvmm::shim
