// SPDX-License-Identifier: Apache-2.0
#include "tools/view/encode/perfetto_trace.h"

namespace cuvmm::tools {

namespace {

// Numbers of fields, from Perfetto's .proto files.
namespace packet {
constexpr unsigned kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                   kInterned = 12, kSequenceFlags = 13, kTimestampClock = 58, kTrackDescriptor = 60;
}
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8;
}
namespace event {
constexpr unsigned kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22, kName = 23,
                   kCounterValue = 30, kFlow = 47, kCorrelation = 53;
}
namespace annotation {
constexpr unsigned kText = 6, kName = 10, kSharedText = 17;
}
constexpr std::uint64_t kSequenceNumber = 1;
// Flags of a packet: it starts, or needs, the table of texts that packets name by numbers.
constexpr std::uint64_t kStartsState = 1, kNeedsState = 2;
constexpr std::uint64_t kRealtime = 1, kBoottime = 6, kUnitBytes = 3;
constexpr unsigned kInternedTexts = 29;

}  // namespace

PerfettoEvent::PerfettoEvent(Type type, std::uint64_t track) {
  message_.number(event::kType, type);
  message_.number(event::kTrack, track);
}

void PerfettoEvent::name(const std::string& name, const char* category) {
  message_.text(event::kName, name);
  message_.text(event::kCategory, category);
}

void PerfettoEvent::value(std::uint64_t value) { message_.number(event::kCounterValue, value); }

void PerfettoEvent::flow(std::uint64_t number) { message_.fixed64(event::kFlow, number); }

void PerfettoEvent::correlation(const std::string& words) {
  message_.text(event::kCorrelation, words);
}

void PerfettoEvent::annotate(const char* name, const std::string& value) {
  if (value.empty()) return;
  ProtobufMessage one;
  one.text(annotation::kName, name);
  one.text(annotation::kText, value);
  message_.message(event::kAnnotation, one);
}

void PerfettoTrace::clock(std::uint64_t boot_ns, std::uint64_t unix_ns) {
  ProtobufMessage snapshot;
  for (const auto& [id, ns] : {std::pair{kBoottime, boot_ns}, std::pair{kRealtime, unix_ns}}) {
    ProtobufMessage one;
    one.number(1, id);
    one.number(2, ns);
    snapshot.message(1, one);
  }
  snapshot.number(2, kBoottime);
  ProtobufMessage message;
  message.number(packet::kSequence, kSequenceNumber);
  if (bytes_.empty()) message.number(packet::kSequenceFlags, kStartsState);
  message.message(packet::kClockSnapshot, snapshot);
  write(message);
}

std::uint64_t PerfettoTrace::process(const std::string& name, std::int64_t pid) {
  ProtobufMessage process, descriptor;
  process.number(1, static_cast<std::uint64_t>(pid));
  process.text(6, name);
  descriptor.message(track::kProcess, process);
  return describe(descriptor);
}

std::uint64_t PerfettoTrace::track(const std::string& name, std::uint64_t parent) {
  ProtobufMessage descriptor;
  descriptor.text(track::kName, name);
  descriptor.number(track::kParent, parent);
  return describe(descriptor);
}

std::uint64_t PerfettoTrace::bytes_counter(const std::string& name, std::uint64_t parent) {
  ProtobufMessage unit, descriptor;
  unit.number(3, kUnitBytes);
  descriptor.text(track::kName, name);
  descriptor.number(track::kParent, parent);
  descriptor.message(track::kCounter, unit);
  return describe(descriptor);
}

std::uint64_t PerfettoTrace::describe(ProtobufMessage descriptor) {
  descriptor.number(track::kUuid, ++tracks_);
  ProtobufMessage message;
  message.number(packet::kSequence, kSequenceNumber);
  message.message(packet::kTrackDescriptor, descriptor);
  write(message);
  return tracks_;
}

void PerfettoTrace::add(std::uint64_t boot_ns, const PerfettoEvent& event) {
  ProtobufMessage message;
  message.number(packet::kTimestamp, boot_ns);
  message.number(packet::kTimestampClock, kBoottime);
  message.number(packet::kSequence, kSequenceNumber);
  message.number(packet::kSequenceFlags, kNeedsState);
  if (!interned_.bytes().empty()) message.message(packet::kInterned, interned_);
  interned_ = {};
  message.message(packet::kTrackEvent, event.message_);
  write(message);
}

void PerfettoTrace::annotate_shared(PerfettoEvent& event, const char* name,
                                    const std::string& value) {
  if (value.empty()) return;
  ProtobufMessage one;
  one.text(annotation::kName, name);
  one.number(annotation::kSharedText, text(value));
  event.message_.message(event::kAnnotation, one);
}

// The number of a text. A new text is written with the next event.
std::uint64_t PerfettoTrace::text(const std::string& value) {
  const auto [known, fresh] = texts_.try_emplace(value, texts_.size() + 1);
  if (fresh) {
    ProtobufMessage one;
    one.number(1, known->second);
    one.text(2, value);
    interned_.message(kInternedTexts, one);
  }
  return known->second;
}

void PerfettoTrace::write(const ProtobufMessage& packet) {
  ProtobufMessage outer;
  outer.message(1, packet);
  bytes_ += outer.bytes();
}

}  // namespace cuvmm::tools
