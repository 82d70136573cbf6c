// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/recording.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz {

namespace {

constexpr std::string_view kRecordingMagic =
    "cuvmm-fuzz-recording ";  // the version and a line's end follow
constexpr char kVersion = '2', kAbridgedVersion = '6';
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kMachineBytes = kNameBytes + 4 + 4 + 8 + 4;
constexpr std::size_t kAnswerBytes = 7;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front. After the first value that the bytes do not hold, every value fails.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  bool has(std::size_t n) const { return n <= rest_.size(); }
  std::string_view take(std::size_t n) {
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(std::min(n, rest_.size()));
    return out;
  }
  template <class T>
  T get() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  std::string_view rest_;
};

std::string machine_bytes(const RecordedMachine& machine) {
  std::string out;
  std::string name = machine.gpu.substr(0, kNameBytes);
  name.resize(kNameBytes);
  out += name;
  put(out, std::int32_t{machine.driver_version});
  put(out, std::int32_t{machine.devices});
  put(out, machine.seed);
  put(out, std::int32_t{machine.processes});
  return out;
}

RecordedMachine machine_of(Cursor& cursor, bool with_processes) {
  RecordedMachine out;
  const std::string_view name = cursor.take(kNameBytes);
  out.gpu = std::string(name.substr(0, name.find('\0')));
  out.driver_version = cursor.get<std::int32_t>();
  out.devices = cursor.get<std::int32_t>();
  out.seed = cursor.get<std::uint64_t>();
  if (with_processes) out.processes = cursor.get<std::int32_t>();
  return out;
}

Generator generator_of(const RecordedMachine& machine, Programs programs) {
  return [devices = machine.devices, processes = machine.processes, programs](
             std::uint64_t seed, std::uint64_t number) {
    return bytes_of(program_of(programs, seed, number, devices, processes));
  };
}

Recording parse_abridged(std::string_view bytes, std::size_t every) {
  Recording out;
  AbridgedFile file;
  const auto generator = [&](const AbridgedFile& so_far) -> Generator {
    Cursor cursor(so_far.header);
    out.machine = machine_of(cursor, true);
    const bool plausible = out.machine.devices > 0 && out.machine.devices <= 64 &&
                           out.machine.processes > 0 && out.machine.processes <= kProcesses;
    const bool known = so_far.generator >= static_cast<std::uint8_t>(Programs::kAreas) &&
                       so_far.generator < static_cast<std::uint8_t>(Programs::kCount);
    if (!plausible || !known) return {};
    return generator_of(out.machine, static_cast<Programs>(so_far.generator));
  };
  out.error = read_abridged(bytes, kMachineBytes, every, generator, file);
  if (!out.error.empty()) return out;
  for (std::size_t i = 0; i < file.programs.size(); ++i) {
    RecordedProgram program{ops_of(file.programs[i]), {}};
    program.answers.resize(program.ops.size());
    for (const Abridged::Known& known : file.abridged[i].known) {
      if (known.op < program.answers.size()) program.answers[known.op] = answer_of(known.answer);
    }
    out.programs.push_back(std::move(program));
  }
  out.abridged = std::move(file.abridged);
  out.digests = std::move(file.digests);
  out.group = file.group;
  return out;
}

}  // namespace

std::string recording_header(const RecordedMachine& machine) {
  return std::string(kRecordingMagic) + kVersion + '\n' + machine_bytes(machine);
}

AnswerWord word_of(const RecordedAnswer& answer) {
  return {static_cast<std::uint8_t>(answer.how), static_cast<std::uint16_t>(answer.result),
          answer.value};
}

RecordedAnswer answer_of(const AnswerWord& word) {
  return {static_cast<RecordedAnswer::How>(word.how & 3), static_cast<CUresult>(word.result),
          word.value};
}

std::string abridged_recording(const Recording& full, std::vector<Abridged> abridged,
                               std::vector<std::uint32_t> digests, unsigned group) {
  AbridgedFile file{machine_bytes(full.machine), 0, group, {}, {}, std::move(abridged),
                    std::move(digests)};
  for (const RecordedProgram& program : full.programs) {
    file.programs.push_back(bytes_of(program.ops));
  }
  // The generator that makes most of the programs.
  std::size_t most = 0;
  for (auto i = static_cast<std::uint8_t>(Programs::kAreas);
       i < static_cast<std::uint8_t>(Programs::kCount); ++i) {
    const Generator generator = generator_of(full.machine, static_cast<Programs>(i));
    std::size_t equal = 0;
    for (std::size_t n = 0; n < file.programs.size(); ++n) {
      equal += generator(full.machine.seed, n) == file.programs[n];
    }
    if (file.generator != 0 && equal <= most) continue;
    most = equal;
    file.generator = i;
  }
  const Generator generator = generator_of(full.machine, static_cast<Programs>(file.generator));
  file.parts = parts_of(file.programs, full.machine.seed, generator);
  return std::string(kRecordingMagic) + kAbridgedVersion + '\n' + abridged_bytes(file, generator);
}

std::string answer_text(const RecordedAnswer& answer) {
  switch (answer.how) {
    case RecordedAnswer::How::kNotRun:
      return "not run";
    case RecordedAnswer::How::kLeftOut:
      return "left out";
    case RecordedAnswer::How::kDied:
      return "its end";
    case RecordedAnswer::How::kDone:
      break;
  }
  return result_name(answer.result) + (answer.value ? " =" + std::to_string(answer.value) : "");
}

std::string recorded_bytes(const RecordedProgram& program) {
  std::string out;
  put(out, static_cast<std::uint16_t>(program.ops.size()));
  for (const Op& op : program.ops) out.append(reinterpret_cast<const char*>(&op), sizeof op);
  for (const RecordedAnswer& answer : program.answers) {
    put(out, static_cast<std::uint8_t>(answer.how));
    put(out, static_cast<std::uint16_t>(answer.result));
    put(out, answer.value);
  }
  return out;
}

Recording parse_recording(std::string_view bytes, std::size_t every) {
  Recording out;
  Cursor cursor(bytes);
  const bool magic = cursor.take(kRecordingMagic.size()) == kRecordingMagic;
  const std::string_view version = cursor.take(2);
  if (magic && version == "6\n") {
    return parse_abridged(bytes.substr(kRecordingMagic.size() + version.size()), every);
  }
  if (!magic || (version != "1\n" && version != "2\n")) {
    out.error = "no recording: expected the line '" + std::string(kRecordingMagic) + "1', 2 or 6";
    return out;
  }
  out.machine = machine_of(cursor, version[0] != '1');
  std::size_t number = 0;
  while (cursor.has(sizeof(std::uint16_t))) {
    const std::size_t count = cursor.get<std::uint16_t>();
    if (!cursor.has(count * (sizeof(Op) + kAnswerBytes))) break;
    RecordedProgram program;
    for (std::size_t i = 0; i < count; ++i) {
      program.ops.push_back(cursor.get<Op>());
      canonicalise(program.ops.back());
    }
    for (std::size_t i = 0; i < count; ++i) {
      RecordedAnswer answer;
      answer.how = static_cast<RecordedAnswer::How>(cursor.get<std::uint8_t>() & 3);
      answer.result = static_cast<CUresult>(cursor.get<std::uint16_t>());
      answer.value = cursor.get<std::uint32_t>();
      program.answers.push_back(answer);
    }
    if (number++ % every == 0) out.programs.push_back(std::move(program));
  }
  return out;
}

}  // namespace cuvmm::fuzz
