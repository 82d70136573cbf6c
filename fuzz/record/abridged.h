// SPDX-License-Identifier: Apache-2.0
// A recording without what is known anyway: its programs follow from their seed, and where the
// emulator answers as the driver did, a digest of the answers stands for them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::fuzz {

/// An op's 16 bytes, of either recorder.
using OpBytes = std::array<std::uint8_t, 16>;
using ProgramBytes = std::vector<OpBytes>;

/// An answer of either recorder: 7 bytes in a file.
struct AnswerWord {
  std::uint8_t how = 0;
  std::uint16_t result = 0;
  std::uint32_t value = 0;
  friend bool operator==(const AnswerWord&, const AnswerWord&) = default;
};

/// The digest of some answers in their order. If exactly one of them differs from the recorded
/// ones, the two digests say which: they are the sum of the answers' hashes and the sum of the
/// hashes times their places, both modulo a prime.
class AnswerDigest {
 public:
  void add(const AnswerWord& answer);
  std::uint32_t sum() const { return weighted_ << 16 | plain_; }
  std::size_t size() const { return hashes_.size(); }
  /// The place of the only answer that differs, given the recorded digest.
  std::optional<std::size_t> only_difference(std::uint32_t recorded) const;
  /// Whether the recorded digest follows if the answer at this place is `other`.
  bool becomes(std::uint32_t recorded, std::size_t place, const AnswerWord& other) const;

 private:
  std::uint32_t plain_ = 0, weighted_ = 0;
  std::vector<std::uint32_t> hashes_;
};

/// What is stored of a program's answers.
struct Abridged {
  struct Known {
    std::uint8_t op = 0;
    AnswerWord answer;
  };
  std::uint64_t number = 0;  ///< of the program in the recording
  std::size_t end = 0;  ///< the calls from here on are beyond comparison, with no answer stored
  std::vector<std::uint8_t> open;  ///< ops whose result counts and whose value does not
  /// In the order of the ops. Their answers differ from the emulator's, or depend on what is none
  /// of the program's.
  std::vector<Known> known;

  bool is_open(std::size_t op) const;
  const AnswerWord* known_answer(std::size_t op) const;
};

/// Programs in a row that one seed means: one run of a recorder.
struct RecordedPart {
  std::uint64_t seed = 0, programs = 0;
};

struct AbridgedFile {
  std::string header;          ///< as the full recording's, without its first line
  std::uint8_t generator = 0;  ///< which one made the programs: the recorder knows
  unsigned group = 1;          ///< programs per digest
  std::vector<RecordedPart> parts;
  std::vector<ProgramBytes> programs;
  std::vector<Abridged> abridged;  ///< one per program
  std::vector<std::uint32_t> digests;
};
using Generator = std::function<ProgramBytes(std::uint64_t seed, std::uint64_t number)>;

/// The parts of a recording that begins with this seed. Recorders that ran beside each other, whose
/// files were joined, had the seeds that follow.
std::vector<RecordedPart> parts_of(const std::vector<ProgramBytes>& programs, std::uint64_t seed,
                                   const Generator& generator);
/// The file's bytes behind its first line. A program that the generator makes otherwise is stored.
std::string abridged_bytes(const AbridgedFile& file, const Generator& generator);
/// The reverse. Any bytes are read without harm; the result is what is wrong with them, or empty.
/// Only each `every`th group is kept. `generator` is asked for once the header is known.
std::string read_abridged(std::string_view bytes, std::size_t header_bytes, std::size_t every,
                          const std::function<Generator(const AbridgedFile&)>& generator,
                          AbridgedFile& out);

/// Makes the digests of a driver's answers, program by program, and holds them to recorded ones.
class DigestCheck {
 public:
  /// Without recorded digests it only makes them.
  DigestCheck(const std::vector<std::uint32_t>& recorded, unsigned group)
      : recorded_(recorded), group_(group) {}

  struct Mismatch {
    std::size_t first = 0, last = 0;  ///< the group's programs, by their place in the recording
    /// The one call that differs, where it is one.
    std::optional<std::size_t> program;
    std::size_t op = 0;
    AnswerDigest digest;
    std::size_t place = 0;
    std::uint32_t recorded = 0;
    /// Whether the driver gave this answer to the call.
    bool gave(const AnswerWord& answer) const { return digest.becomes(recorded, place, answer); }
  };

  /// An answer that is in the digest.
  void add(std::size_t op, const AnswerWord& answer);
  /// The rest of the program is not compared, although it was when the digest was made.
  void cut() { cut_ = true; }
  /// Whether the next end_program() ends a group.
  bool ends_group(bool last) const { return last || (program_ + 1) % group_ == 0; }
  /// After each program; `last` after the last one.
  std::optional<Mismatch> end_program(bool last);
  const std::vector<std::uint32_t>& made() const { return made_; }

 private:
  const std::vector<std::uint32_t>& recorded_;
  const unsigned group_;
  std::size_t program_ = 0;
  std::vector<std::uint32_t> made_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< program and op
  AnswerDigest digest_;
  bool cut_ = false;
};

}  // namespace cuvmm::fuzz
