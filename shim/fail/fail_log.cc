// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/fail_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "api/documented_results/documented_results.h"
#include "api/driver/driver.h"
#include "api/posix/raw_write.h"
#include "shim/fail/first_failure.h"
#include "shim/fail/site.h"
#include "shim/findings/finding_members.h"
#include "shim/output/json.h"
#include "shim/output/output.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

void add_flag(std::string& out, const char* key, bool value) {
  add_key(out, key);
  out += value ? "true" : "false";
}

void begin_object(std::string& out) {
  if (out.back() != '[') out += ',';
  out += '{';
}

void add_stack(std::string& out, StackId stack) { add_frames(out, "stack", symbolize(stack)); }

void add_sites(std::string& out, const Injector::Seen& seen) {
  add_key(out, "sites");
  out += '[';
  for (const FallibleSite& site : seen.sites) {
    begin_object(out);
    add_text(out, "call", name(site.entry));
    add_text(out, "site", site_text(site.number));
    add_number(out, "calls", site.calls);
    const auto usual = usual_failure(site.entry);
    add_text(out, "result", usual ? result_name(*usual) : "");
    add_flag(out, "gives_up", gives_up(site.entry));
    add_stack(out, site.stack);
    out += '}';
  }
  out += ']';
}

void add_injected(std::string& out, const Injector::Seen& seen) {
  add_key(out, "injected");
  out += '[';
  for (const Injected& one : seen.injected) {
    begin_object(out);
    add_text(out, "call", name(one.entry));
    add_text(out, "site", site_text(one.site));
    add_number(out, "count", one.count);
    add_text(out, "result", result_name(one.code));
    out += '}';
  }
  out += ']';
  add_number(out, "injections", seen.injections);
  add_number(out, "calls_after", seen.calls_after);
}

void add_left(std::string& out, const AllInUse& left) {
  add_key(out, "left");
  out += '[';
  for (const InUse& one : left) {
    begin_object(out);
    add_text(out, "what", one.what);
    add_number(out, "count", one.count);
    add_number(out, "bytes", one.bytes);
    add_stack(out, one.first.made.stack);
    out += '}';
  }
  out += ']';
}

int write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = raw_write(fd, text);
  ::close(fd);
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  return error;
}

}  // namespace

std::string fail_log_name(const std::string& folder, int pid) {
  if (folder.empty()) return {};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return folder + "/" + std::to_string(pid) + "-" + std::to_string(now.tv_sec) + "." +
         std::to_string(now.tv_nsec) + ".fail.json";
}

void note_first_failure(Injector& injector) noexcept {
  write_fail_log(injector, "running", false, nullptr);
}

void write_fail_log(Injector& injector, const char* ended, bool returned,
                    const AllInUse* left) noexcept {
  const auto seen = injector.seen();
  if (!seen)
    return say("the log of failures is incomplete: the process ended in the middle of a call");
  if (seen->sites.empty() && seen->injections == 0 && (!left || left->empty())) return;
  try {
    std::string out = "{";
    add_number(out, "schema", 1);
    add_number(out, "pid", static_cast<std::uint64_t>(::getpid()));
    add_text(out, "ended", ended);
    add_flag(out, "returned", returned);
    // Only a run without injected failures writes all the stacks, because reading them takes time.
    if (!injector.injects()) add_sites(out, *seen);
    add_injected(out, *seen);
    if (left) add_left(out, *left);
    out += "}\n";
    const int error = write_file(injector.log(), out);
    if (error != 0) say("cannot write " + injector.log() + ": errno " + std::to_string(error));
  } catch (...) {
    say("out of memory: the log of failures is incomplete");
  }
}

}  // namespace cuvmm::shim
