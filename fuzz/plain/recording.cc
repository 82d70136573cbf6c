// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/recording.h"

#include <cstring>

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::string_view kMagic = "cuvmm-fuzz-recording 3\n";
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kAnswerBytes = 7;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& from) {
  T value{};
  if (from.size() < sizeof value) return from = {}, value;
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string recording_header(const RecordedMachine& machine) {
  std::string out(kMagic);
  std::string name = machine.gpu.substr(0, kNameBytes);
  name.resize(kNameBytes);
  out += name;
  put(out, machine.driver_version);
  put(out, machine.devices);
  put(out, machine.seed);
  put(out, std::int32_t{1});  // processes
  return out;
}

std::string recorded_bytes(const RecordedProgram& program) {
  std::string out;
  put(out, static_cast<std::uint16_t>(program.ops.size()));
  for (const Op& op : program.ops) put(out, op);
  for (const Answer& answer : program.answers) {
    put(out, answer.how);
    put(out, answer.result);
    put(out, answer.value);
  }
  return out;
}

bool is_recording(std::string_view bytes) { return bytes.starts_with(kMagic); }

Recording parse_recording(std::string_view bytes) {
  Recording out;
  if (!is_recording(bytes) || bytes.size() < kMagic.size() + kNameBytes) {
    out.error = "no recording of plain memory";
    return out;
  }
  bytes.remove_prefix(kMagic.size());
  const std::string_view name = bytes.substr(0, kNameBytes);
  out.machine.gpu = std::string(name.substr(0, name.find('\0')));
  bytes.remove_prefix(kNameBytes);
  out.machine.driver_version = take<std::int32_t>(bytes);
  out.machine.devices = take<std::int32_t>(bytes);
  out.machine.seed = take<std::uint64_t>(bytes);
  take<std::int32_t>(bytes);
  while (bytes.size() >= sizeof(std::uint16_t)) {
    const std::size_t count = take<std::uint16_t>(bytes);
    if (bytes.size() < count * (sizeof(Op) + kAnswerBytes)) break;
    RecordedProgram program;
    for (std::size_t i = 0; i < count; ++i) program.ops.push_back(take<Op>(bytes));
    for (std::size_t i = 0; i < count; ++i) {
      Answer answer;
      answer.how = static_cast<Answer::How>(take<std::uint8_t>(bytes) & 3);
      answer.result = take<std::uint16_t>(bytes);
      answer.value = take<std::uint32_t>(bytes);
      program.answers.push_back(answer);
    }
    out.programs.push_back(std::move(program));
  }
  return out;
}

}  // namespace cuvmm::fuzz::plain
