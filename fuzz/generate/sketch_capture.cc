// SPDX-License-Identifier: Apache-2.0
// The generator's view of streams, events, captures and graphs.
#include <algorithm>

#include "fuzz/generate/sketch.h"

namespace cuvmm::fuzz {

namespace {
std::uint8_t byte_of(int number) { return static_cast<std::uint8_t>(number); }

template <class List>
auto* named(List& list, std::uint8_t name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.name == name; });
  return found == list.end() ? nullptr : &*found;
}

template <class List, class Item>
void put(List& list, Item item) {
  std::erase_if(list, [&](const auto& each) { return each.name == item.name; });
  list.push_back(item);
}
}  // namespace

bool Sketch::capturing() const {
  return std::any_of(streams.begin(), streams.end(), [](const Stream& s) { return s.capture; });
}

void Sketch::end_capture(unsigned capture) {
  for (Stream& stream : streams) {
    if (stream.capture == capture) stream.capture = 0;
  }
  for (Event& event : events) {
    if (event.capture == capture) event.capture = kOver;
  }
}

void Sketch::follow_capture(const Op& op) {
  const int device = this->device[op.actor];
  Stream* const stream = named(streams, op.ref);
  switch (op.code) {
    case Code::kStreamMake:
      if (device >= 0) put(streams, Stream{op.name, byte_of(device), (op.flags & 1) == 0});
      break;
    case Code::kStreamEnd:
      if (!stream) break;
      if (stream->capture && stream->origin) end_capture(stream->capture);
      dead.push_back({NameKind::kStream, op.ref});
      std::erase_if(streams, [&](const Stream& s) { return s.name == op.ref; });
      break;
    case Code::kCaptureBegin:
      if (!stream || stream->capture || stream->device != device || op.value > 2) break;
      stream->capture = ++captures;
      stream->origin = true;
      stream->mode = op.value;
      stream->thread = byte_of(thread_of(op));
      break;
    case Code::kCaptureEnd:
      if (!stream || !stream->capture || !stream->origin) break;
      put(graphs, Graph{op.name, stream->device});
      end_capture(stream->capture);
      break;
    case Code::kEventMake:
      if (device >= 0) put(events, Event{op.name, byte_of(device)});
      break;
    case Code::kEventEnd:
      dead.push_back({NameKind::kEvent, op.ref});
      std::erase_if(events, [&](const Event& e) { return e.name == op.ref; });
      break;
    case Code::kEventMark: {
      Event* const event = named(events, op.ref);
      const Stream* const of = named(streams, op.ref2);
      if (event) event->capture = of ? of->capture : 0;
      break;
    }
    case Code::kStreamJoin: {
      const Event* const event = named(events, op.ref);
      Stream* const waits = named(streams, op.ref2);
      if (!event || !waits || !event->capture || event->capture == kOver || waits->capture) break;
      waits->capture = event->capture;
      waits->origin = false;
      break;
    }
    case Code::kGraphMake:
      if (const Graph* graph = named(graphs, op.ref)) {
        put(executables, Graph{op.name, graph->device});
      }
      break;
    case Code::kGraphEnd:
      dead.push_back({NameKind::kExecutable, op.ref});
      std::erase_if(executables, [&](const Graph& g) { return g.name == op.ref; });
      break;
    default:
      break;
  }
}

}  // namespace cuvmm::fuzz
