// What the shim says when the process ends.
#include "shim/alive.h"
#include "shim/escape.h"
#include "shim/json.h"
#include "shim/json_report.h"
#include "shim/output.h"
#include "shim/process.h"
#include "shim/text_report.h"

namespace cuvmm::shim {

namespace {

// check_exit takes a plain function; the session's lock is held while it runs.
bool descriptor_open(const Export& exported) {
  return Process::get().session().still_exported(exported);
}

}  // namespace

void Process::find_leaks(Session& session) {
  const Violations leaks = session.with_model(
      [](const Model& model) { return check_exit(model, &descriptor_open, other_threads()); });
  for (const Violation& leak : leaks) {
    Finding finding;
    finding.violation = leak;
    if (!leak.objects.empty()) {
      finding.stack = leak.objects.front().made.stack;
      finding.memory = session.memory_of(leak.objects.front());
    }
    ledger_->take(std::move(finding));
  }
}

void Process::find_escapes() {
  const RealDriver* driver = driver_if_open();
  for (const std::string& path : escaped_libraries(driver ? driver->path : "")) {
    say(path +
        " was loaded beside the shim (an absolute path, dlmopen): calls to it were not checked");
    note_unchecked(path + ": loaded beside the shim, calls to it were not checked");
  }
}

ReportContext Process::context(const char* ended) {
  ReportContext context;
  context.pid = pid_;
  context.ended = ended;
  const RealDriver* driver = driver_if_open();
  const Opened* open = opened_.load();
  context.driver = "{\"path\":" + json_string(driver ? driver->path : "") +
                   ",\"version\":" + std::to_string(open ? open->session.driver_version() : 0) +
                   ",\"emulated\":" + (driver && driver->emulated ? "true" : "false") + "}";
  context.unchecked = "[";
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& what : unchecked_) {
      if (context.unchecked.size() > 1) context.unchecked += ',';
      context.unchecked += json_string(what);
    }
  }
  context.unchecked += ']';
  if (!open) return context;
  for (std::size_t i = 0; i < std::size(context.counts); ++i) {
    context.counts[i] = open->session.count(static_cast<EntryPoint>(i));
  }
  return context;
}

void Process::write_json(const char* ended) {
  if (options_.report.empty() && report_name_.empty()) return;
  ReportContext report = context(ended);
  if (Opened* open = opened_.load()) {
    const Alive alive =
        open->session.with_model([](const Model& model) { return count_alive(model); });
    report.ipc = open->session.ipc_json();
    report.alive_allocations = alive.allocations;
    report.alive_bytes = alive.bytes;
    report.alive_reservations = alive.reservations;
  }
  const bool last = std::string_view(ended) != "running";
  const Opened* open = opened_.load();
  const bool used = open && (!forked_ || open->session.total() != 0);
  const bool idle = !used && report.unchecked == "[]";
  const auto write = [&](const std::string& path, bool keep) {
    const int error = write_report(path.c_str(), report, *ledger_, keep);
    if (error != 0) say("cannot write the report " + path + ": errno " + std::to_string(error));
  };
  // A process that never used CUDA (a shell, a child on its way to exec) leaves no file among the
  // others', and leaves theirs alone.
  if (!report_name_.empty() && !idle) write(report_name_, false);
  if (!options_.report.empty() && last) write(options_.report, idle);
}

void Process::finish(const char* ended) noexcept {
  if (!is_current() || finished_.exchange(true)) return;
  try {
    Opened* open = opened_.load();
    const bool exits = std::string_view(ended) == "exit";
    if (open && exits && options_.leak_check != LeakCheck::kNo && !open->session.off()) {
      find_leaks(open->session);
    }
    find_escapes();
    if (open && open->session.total() != 0) {
      SummaryFacts facts{.calls = open->session.total()};
      const Alive alive =
          open->session.with_model([](const Model& model) { return count_alive(model); });
      facts.alive_allocations = alive.allocations;
      facts.alive_bytes = alive.bytes;
      facts.alive_reservations = alive.reservations;
      if (exits && options_.leak_check == LeakCheck::kFull) write_stderr(alive_text(alive));
      write_stderr(repeats_text(*ledger_));
      if (!options_.no_summary) write_stderr(summary_text(*ledger_, facts));
    }
    write_json(ended);
  } catch (...) {
    say("out of memory at exit: the report is incomplete");
  }
}

}  // namespace cuvmm::shim
