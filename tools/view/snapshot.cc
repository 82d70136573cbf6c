// SPDX-License-Identifier: Apache-2.0
#include "tools/view/snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tools/report/text/finding_text.h"
#include "tools/report/text/function_name.h"
#include "tools/timeline/moments.h"
#include "tools/timeline/object_findings.h"
#include "tools/timeline/timeline.h"
#include "tools/view/encode/pickle.h"

namespace cuvmm::tools {

namespace {

using O = timeline::Object;

bool is_shown(O kind) {
  return kind == O::kMapping || kind == O::kDevice || kind == O::kManaged || kind == O::kPool;
}

/// A process, and the facts that findings have about its objects.
struct Process {
  Process(const ProcessTimeline& recorded, const Json& findings)
      : timeline(recorded), findings_of(recorded, findings) {}
  const ProcessTimeline& timeline;
  const ObjectFindings findings_of;
};

/// A piece of memory that is still there at the end of the report.
struct Held {
  const Life* life;
  const Process* process;
};

/// The begin or the end of a piece of memory.
struct Event : Held {
  std::uint64_t unix_ns;
  bool begins;
};

class Snapshot {
 public:
  Snapshot(const std::vector<ProcessTimeline>& timelines, const Json& findings)
      : alone_(timelines.size() == 1) {
    for (const ProcessTimeline& timeline : timelines)
      take(processes_.emplace_back(timeline, findings));
    for (std::vector<Event>& events : events_) {
      std::stable_sort(events.begin(), events.end(),
                       [](const Event& a, const Event& b) { return a.unix_ns < b.unix_ns; });
    }
  }

  std::string text() {
    out_.begin_dict();
    out_.key("segments");
    out_.begin_list();
    for (std::size_t device = 0; device < held_.size(); ++device) segments(device);
    out_.end_list();
    out_.key("device_traces");
    out_.begin_list();
    for (const std::vector<Event>& events : events_) {
      out_.item();
      traces(events);
    }
    out_.end_list();
    out_.key("allocator_settings");
    out_.begin_dict();
    out_.end_dict();
    out_.end_dict();
    return std::move(out_).finish();
  }

 private:
  void take(const Process& process) {
    const Moments moments(process.timeline);
    for (const Life& life : process.timeline.lives) {
      if (!is_shown(life.kind)) continue;
      const std::int32_t device = life.kind == O::kMapping ? moments.device_of(life) : life.device;
      const std::size_t index = index_of(process, std::max(device, 0));
      const Held held{&life, &process};
      events_[index].push_back(
          {held, unix_ns(process, std::max<std::int64_t>(life.begin_ns, 0)), true});
      if (life.alive()) {
        held_[index].push_back(held);
      } else {
        events_[index].push_back({held, unix_ns(process, life.end_ns), false});
      }
    }
  }

  // The snapshot's index of a device. In a report of one process, that is the device's number. With
  // several processes, each gets indices of its own, because their addresses may be equal.
  std::size_t index_of(const Process& process, std::int32_t device) {
    constexpr std::int32_t kMostDevices = 64;
    const auto own = static_cast<std::size_t>(std::min(device, kMostDevices - 1));
    const std::size_t index =
        alone_ ? own : numbers_.try_emplace({&process, own}, numbers_.size()).first->second;
    if (index >= events_.size()) {
      events_.resize(index + 1);
      held_.resize(index + 1);
    }
    return index;
  }

  static std::uint64_t unix_ns(const Process& process, std::int64_t ns) {
    return process.timeline.unix_ns + static_cast<std::uint64_t>(ns);
  }

  // Writes the segments of a device. Adjacent mappings are one segment, like PyTorch's expandable
  // segments.
  void segments(std::size_t device) {
    std::vector<Held>& all = held_[device];
    std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) {
      return a.process != b.process ? a.process < b.process : a.life->value < b.life->value;
    });
    for (std::size_t from = 0; from < all.size();) {
      std::size_t to = from + 1;
      while (to < all.size() && continues(all[to - 1], all[to])) ++to;
      segment(device, all, from, to);
      from = to;
    }
  }
  static bool continues(const Held& a, const Held& b) {
    return a.process == b.process && a.life->kind == O::kMapping && b.life->kind == O::kMapping &&
           b.life->value - a.life->value == a.life->size;
  }

  // Writes a stack. The pickle has each stack once, because many events share a stack.
  void frames(const Process& process, std::uint32_t id) {
    out_.key("frames");
    const Json& stack = list_in(process.timeline.stacks, std::to_string(id).c_str());
    // An empty stack gets a frame that says so. Otherwise the viewer tells the user to record
    // stacks with PyTorch.
    const bool known = !stack.empty();
    const auto [place, fresh] =
        stacks_.try_emplace({known ? &process : nullptr, known ? id : 0}, stacks_.size());
    const auto number = static_cast<std::uint32_t>(place->second);
    if (!fresh) return out_.recall(number);
    out_.begin_list();
    for (const Json& one : stack) {
      const std::string file = text_in(one, "file"), module = text_in(one, "module");
      frame(text_in(one, "function"), file.empty() ? module.substr(module.rfind('/') + 1) : file,
            number_in(one, "line"));
    }
    if (!known) frame("this report has no stack of the call", "cuvmm", 0);
    out_.end_list();
    out_.remember(number);
  }
  void frame(const std::string& function, const std::string& file, std::uint64_t line) {
    out_.item();
    out_.begin_dict();
    out_.member("name", function.empty() ? "?" : brief_function(function));
    out_.member("filename", file);
    out_.member("line", line);
    out_.end_dict();
  }

  // Writes the text that the viewer shows above the stack.
  void metadata(const Held& held, std::uint64_t call) {
    std::string text = fmt::format("call {}", call);
    if (const FindingsOfObject* const findings_of = held.process->findings_of.of(*held.life)) {
      if (findings_of->object) {
        for (const auto& [what, value] :
             {std::pair{"name", text_in(*findings_of->object, "name")},
              std::pair{"NVTX ranges", ranges_text(*findings_of->object)},
              std::pair{"NVTX regions", regions_text(*findings_of->object)}}) {
          if (!value.empty()) text += fmt::format("\n  {}: {}", what, value);
        }
      }
      constexpr std::size_t kMostFindings = 8;
      for (std::size_t i = 0; i < findings_of->findings.size() && i < kMostFindings; ++i)
        text += "\n  " + headline(*findings_of->findings[i]);
    }
    out_.member("user_metadata", text);
  }
  static std::string headline(const Json& finding) {
    std::string text = fmt::format("{} {}", text_in(finding, "kind"), text_in(finding, "rule"));
    if (const auto call = number_in(finding, "call_index"); call != 0)
      text += fmt::format(", call {}", call);
    return text + ": " + text_in(finding, "message");
  }

  void segment(std::size_t device, const std::vector<Held>& all, std::size_t from, std::size_t to) {
    std::uint64_t total = 0;
    for (std::size_t i = from; i < to; ++i) total += all[i].life->size;
    const Held& first = all[from];
    out_.item();
    out_.begin_dict();
    out_.member("device", device);
    out_.member("address", first.life->value);
    for (const char* const sum : {"total_size", "allocated_size", "active_size", "requested_size"})
      out_.member(sum, total);
    out_.member("stream", 0);
    out_.member("segment_type", "large");
    out_.key("segment_pool_id");
    out_.number(0);
    out_.number(0);
    out_.pair();
    out_.key("is_expandable");
    out_.flag(first.life->kind == O::kMapping);
    frames(*first.process, first.life->stack);
    out_.key("blocks");
    out_.begin_list();
    for (std::size_t i = from; i < to; ++i) {
      out_.item();
      out_.begin_dict();
      out_.member("address", all[i].life->value);
      out_.member("size", all[i].life->size);
      out_.member("requested_size", all[i].life->size);
      out_.member("state", "active_allocated");
      frames(*all[i].process, all[i].life->stack);
      metadata(all[i], all[i].life->begin_call);
      out_.end_dict();
    }
    out_.end_list();
    out_.end_dict();
  }

  // Writes the events of a device. A segment begins before the block in it, and ends after it.
  void traces(const std::vector<Event>& events) {
    out_.begin_list();
    for (const Event& event : events) {
      const bool mapped = event.life->kind == O::kMapping;
      if (event.begins) {
        entry(event, mapped ? "segment_map" : "segment_alloc");
        entry(event, "alloc");
      } else {
        entry(event, "free_requested");
        entry(event, "free_completed");
        entry(event, mapped ? "segment_unmap" : "segment_free");
      }
    }
    out_.end_list();
  }

  void entry(const Event& event, const char* action) {
    out_.item();
    out_.begin_dict();
    out_.member("action", action);
    out_.member("addr", event.life->value);
    out_.member("size", event.life->size);
    out_.member("stream", 0);
    out_.member("time_us", event.unix_ns / 1000);
    frames(*event.process, event.begins ? event.life->stack : event.life->end_stack);
    metadata(event, event.begins ? event.life->begin_call : event.life->end_call);
    out_.end_dict();
  }

  const bool alone_;
  std::deque<Process> processes_;
  std::map<std::pair<const Process*, std::size_t>, std::size_t> numbers_;
  std::map<std::pair<const Process*, std::uint32_t>, std::size_t> stacks_;
  Pickle out_;
  std::vector<std::vector<Event>> events_;  // by device
  std::vector<std::vector<Held>> held_;
};

}  // namespace

std::string snapshot_of(const Json& report) {
  const std::vector<ProcessTimeline> timelines = timelines_of(report);
  return Snapshot(timelines, list_in(report, "findings")).text();
}

}  // namespace cuvmm::tools
