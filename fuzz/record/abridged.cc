// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/abridged.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz {

namespace {

constexpr std::uint32_t kPrime = 65521;
constexpr std::uint64_t kMostPrograms = 1 << 22;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

std::uint32_t hash_of(const AnswerWord& answer) {
  const std::uint64_t head = std::uint64_t{answer.how} << 16 | answer.result;
  return static_cast<std::uint32_t>(mixed(mixed(1, head), answer.value) >> 20) % kPrime;
}

std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b % kPrime);
}

std::uint32_t inverse(std::uint32_t a) {
  std::uint32_t out = 1;
  for (std::uint32_t power = kPrime - 2; power > 0; power >>= 1, a = product(a, a)) {
    if (power & 1) out = product(out, a);
  }
  return out;
}

std::uint32_t difference(std::uint32_t a, std::uint32_t b) { return (a + kPrime - b) % kPrime; }

std::uint64_t hash_of(const std::vector<ProgramBytes>& programs) {
  std::uint64_t out = 1;
  for (const ProgramBytes& program : programs) {
    out = mixed(out, program.size());
    for (const OpBytes& op : program) {
      std::uint64_t words[2];
      std::memcpy(words, op.data(), sizeof words);
      out = mixed(mixed(out, words[0]), words[1]);
    }
  }
  return out;
}

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  /// Writes a program's number, as the distance from the last one's.
  void program(std::uint64_t number) {
    this->number(number - last_);
    last_ = number;
  }
  void answer(const AnswerWord& answer) {
    number(answer.how);
    number(answer.result);
    number(answer.value);
  }
  void section(std::size_t count) {
    number(count);
    last_ = 0;
  }
  void raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::uint64_t last_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool failed() const { return failed_; }
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      std::uint8_t byte = 0;
      raw(&byte, 1);
      out |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) break;
    }
    return out;
  }
  AnswerWord answer() {
    AnswerWord out;
    out.how = static_cast<std::uint8_t>(number());
    out.result = static_cast<std::uint16_t>(number());
    out.value = static_cast<std::uint32_t>(number());
    return out;
  }
  std::uint64_t program() { return last_ += number(); }
  std::uint64_t section() {
    last_ = 0;
    return number();
  }
  void raw(void* data, std::size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return;
    }
    std::memcpy(data, rest_.data(), size);
    rest_.remove_prefix(size);
  }

 private:
  std::string_view rest_;
  std::uint64_t last_ = 0;
  bool failed_ = false;
};

// Reads the programs that the file stores, because the generator makes them differently.
bool read_unlike(Reader& from, std::vector<ProgramBytes>& programs) {
  for (std::uint64_t left = from.section(); left > 0 && !from.failed(); --left) {
    const std::uint64_t number = from.program(), size = from.number();
    if (number >= programs.size() || size > 256) return false;
    programs[number].resize(size);
    for (OpBytes& op : programs[number]) from.raw(op.data(), op.size());
  }
  return !from.failed();
}

// A table of the different answers, the number of answers of each program, then the answers as
// places in the table: columns of small numbers, which xz makes small.
bool read_by_layout(Reader& from, const std::vector<ProgramBytes>& programs,
                    std::vector<Abridged>& out) {
  std::vector<AnswerWord> table;
  for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
    table.push_back(from.answer());
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::uint64_t count = from.number();
    if (count > programs[i].size()) return false;
    out[i].by_layout.resize(count);
  }
  for (Abridged& program : out) {
    for (AnswerWord& answer : program.by_layout) {
      const std::uint64_t place = from.number();
      if (from.failed() || place >= table.size()) return false;
      answer = table[place];
    }
  }
  return !from.failed();
}

bool read_answers(Reader& from, const std::vector<ProgramBytes>& programs,
                  std::vector<Abridged>& out) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    out.push_back({.number = i, .end = programs[i].size(), .known = {}, .by_layout = {}});
  }
  const auto each = [&](auto take) {
    for (std::uint64_t left = from.section(); left > 0 && !from.failed(); --left) {
      const std::uint64_t number = from.program(), op = from.number();
      if (number >= out.size() || op > programs[number].size() || op > 255) return false;
      take(out[number], static_cast<std::uint8_t>(op));
    }
    return !from.failed();
  };
  return each([](Abridged& program, std::uint8_t op) { program.end = op; }) &&
         each([&](Abridged& program, std::uint8_t op) {
           program.known.push_back({op, from.answer()});
         }) &&
         read_by_layout(from, programs, out);
}

void write_by_layout(Writer& out, const std::vector<Abridged>& programs) {
  std::vector<AnswerWord> table;
  std::vector<std::size_t> places;
  for (const Abridged& program : programs) {
    for (const AnswerWord& answer : program.by_layout) {
      const auto found = std::find(table.begin(), table.end(), answer);
      places.push_back(static_cast<std::size_t>(found - table.begin()));
      if (found == table.end()) table.push_back(answer);
    }
  }
  out.number(table.size());
  for (const AnswerWord& answer : table) out.answer(answer);
  for (const Abridged& program : programs) out.number(program.by_layout.size());
  for (const std::size_t place : places) out.number(place);
}

template <class Visit>
void each_generated(const std::vector<RecordedPart>& parts, const Generator& generator,
                    Visit visit) {
  for (const RecordedPart& part : parts) {
    for (std::uint64_t i = 0; i < part.programs; ++i) visit(generator(part.seed, i));
  }
}

// Keeps one of `every` groups.
void thin(AbridgedFile& file, std::size_t every) {
  AbridgedFile thinned{file.header, file.generator, file.group, file.parts, {}, {}, {}};
  for (std::size_t group = 0; group < file.digests.size(); group += every) {
    thinned.digests.push_back(file.digests[group]);
    const std::size_t begin = group * file.group;
    const std::size_t end = std::min(begin + file.group, file.programs.size());
    for (std::size_t i = begin; i < end; ++i) {
      thinned.programs.push_back(std::move(file.programs[i]));
      thinned.abridged.push_back(std::move(file.abridged[i]));
    }
  }
  file = std::move(thinned);
}

}  // namespace

void AnswerDigest::add(const AnswerWord& answer) {
  const std::uint32_t hash = hash_of(answer);
  hashes_.push_back(hash);
  plain_ = (plain_ + hash) % kPrime;
  weighted_ = (weighted_ + product(hash, static_cast<std::uint32_t>(hashes_.size()))) % kPrime;
}

std::optional<std::size_t> AnswerDigest::only_difference(std::uint32_t recorded) const {
  const std::uint32_t plain = difference(recorded & 0xffff, plain_);
  const std::uint32_t weighted = difference(recorded >> 16, weighted_);
  if (plain == 0) return std::nullopt;
  const std::uint32_t place = product(weighted, inverse(plain));
  if (place == 0 || place > hashes_.size()) return std::nullopt;
  return place - 1;
}

bool AnswerDigest::becomes(std::uint32_t recorded, std::size_t place,
                           const AnswerWord& other) const {
  return difference(recorded & 0xffff, plain_) == difference(hash_of(other), hashes_[place]);
}

const AnswerWord* Abridged::known_answer(std::size_t op) const {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.op == op; });
  return found == known.end() ? nullptr : &found->answer;
}

std::vector<RecordedPart> parts_of(const std::vector<ProgramBytes>& programs, std::uint64_t seed,
                                   const Generator& generator) {
  std::vector<RecordedPart> out{{seed, 0}};
  ProgramBytes next = generator(seed + 1, 0);
  for (const ProgramBytes& program : programs) {
    if (program == next && out.back().programs > 0) {
      out.push_back({++seed, 0});
      next = generator(seed + 1, 0);
    }
    ++out.back().programs;
  }
  return out;
}

std::string abridged_bytes(const AbridgedFile& file, const Generator& generator) {
  Writer out;
  out.raw(file.header.data(), file.header.size());
  out.number(file.generator);
  out.number(file.group);
  out.number(file.parts.size());
  for (const RecordedPart& part : file.parts) {
    out.number(part.seed);
    out.number(part.programs);
  }
  const std::uint64_t hash = hash_of(file.programs);
  out.raw(&hash, sizeof hash);
  std::vector<std::size_t> unlike;
  std::size_t place = 0;
  each_generated(file.parts, generator, [&](const ProgramBytes& program) {
    if (program != file.programs[place]) unlike.push_back(place);
    ++place;
  });
  out.section(unlike.size());
  for (const std::size_t i : unlike) {
    out.program(i);
    out.number(file.programs[i].size());
    for (const OpBytes& op : file.programs[i]) out.raw(op.data(), op.size());
  }
  std::size_t ends = 0, known = 0;
  const auto is_cut = [&](const Abridged& a) { return a.end < file.programs[a.number].size(); };
  for (const Abridged& program : file.abridged) {
    ends += is_cut(program);
    known += program.known.size();
  }
  out.section(ends);
  for (const Abridged& program : file.abridged) {
    if (!is_cut(program)) continue;
    out.program(program.number);
    out.number(program.end);
  }
  out.section(known);
  for (const Abridged& program : file.abridged) {
    for (const auto& [op, answer] : program.known) {
      out.program(program.number);
      out.number(op);
      out.answer(answer);
    }
  }
  write_by_layout(out, file.abridged);
  for (const std::uint32_t digest : file.digests) out.raw(&digest, sizeof digest);
  return out.take();
}

std::string read_abridged(std::string_view bytes, std::size_t header_bytes, std::size_t every,
                          const std::function<Generator(const AbridgedFile&)>& generator,
                          AbridgedFile& out) {
  static constexpr const char* kBroken = "the file is broken, or not whole";
  Reader from(bytes);
  out.header.resize(header_bytes);
  from.raw(out.header.data(), header_bytes);
  out.generator = static_cast<std::uint8_t>(from.number());
  out.group = static_cast<unsigned>(from.number());
  std::uint64_t programs = 0;
  for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
    const std::uint64_t seed = from.number();
    out.parts.push_back({seed, from.number()});
    programs += std::min(out.parts.back().programs, kMostPrograms);
    if (programs >= kMostPrograms) return kBroken;
  }
  std::uint64_t hash = 0;
  from.raw(&hash, sizeof hash);
  if (from.failed() || out.group == 0 || out.group > 64) return kBroken;
  const Generator make = generator(out);
  if (!make) return "its programs are of a generator that is not known";
  each_generated(out.parts, make,
                 [&](ProgramBytes program) { out.programs.push_back(std::move(program)); });
  if (!read_unlike(from, out.programs)) return kBroken;
  if (hash_of(out.programs) != hash) {
    return "its seed no longer means the recorded programs: the generator has changed";
  }
  if (!read_answers(from, out.programs, out.abridged)) return kBroken;
  out.digests.resize((programs + out.group - 1) / out.group);
  for (std::uint32_t& digest : out.digests) from.raw(&digest, sizeof digest);
  if (from.failed()) return kBroken;
  if (every > 1) thin(out, every);
  return {};
}

void DigestCheck::add(std::size_t op, const AnswerWord& answer) {
  digest_.add(answer);
  places_.emplace_back(program_, op);
}

std::optional<DigestCheck::Mismatch> DigestCheck::end_program(bool last) {
  const bool ends = ends_group(last);
  ++program_;
  if (!ends) return std::nullopt;
  const std::size_t group = made_.size();
  made_.push_back(digest_.sum());
  std::optional<Mismatch> out;
  if (!cut_ && group < recorded_.size() && made_.back() != recorded_[group]) {
    out.emplace();
    out->first = group * group_;
    out->last = program_ - 1;
    out->recorded = recorded_[group];
    if (const auto place = digest_.only_difference(out->recorded)) {
      out->place = *place;
      out->program = places_[*place].first;
      out->op = places_[*place].second;
    }
    out->digest = digest_;
  }
  digest_ = {};
  places_.clear();
  cut_ = false;
  return out;
}

}  // namespace cuvmm::fuzz
