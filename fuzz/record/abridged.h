// SPDX-License-Identifier: Apache-2.0
// A recording without the parts that can be computed: its programs follow from their seed, and
// where the emulator answers as the driver did, the file has only a digest of the answers.
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

/// An answer in either recorder's format: 7 bytes in a file.
struct AnswerWord {
  std::uint8_t how = 0;
  std::uint16_t result = 0;
  std::uint32_t value = 0;
  friend bool operator==(const AnswerWord&, const AnswerWord&) = default;
};

/// The digest of a list of answers: the sum of the answers' hashes, and the sum of the hashes times
/// their places, both modulo a prime. If exactly one answer differs from the recorded ones, the two
/// digests tell which.
class AnswerDigest {
 public:
  void add(const AnswerWord& answer);
  std::uint32_t sum() const { return weighted_ << 16 | plain_; }
  std::size_t size() const { return hashes_.size(); }
  /// The place of the only answer that differs from the recorded digest.
  std::optional<std::size_t> only_difference(std::uint32_t recorded) const;
  /// Whether the digest equals the recorded one if the answer at this place is `other`.
  bool becomes(std::uint32_t recorded, std::size_t place, const AnswerWord& other) const;

 private:
  std::uint32_t plain_ = 0, weighted_ = 0;
  std::vector<std::uint32_t> hashes_;
};

/// The stored part of a program's answers.
struct Abridged {
  struct Known {
    std::uint8_t op = 0;
    AnswerWord answer;
  };
  std::uint64_t number = 0;  ///< of the program, in the recording
  std::size_t end = 0;       ///< calls from here on cannot be compared, and have no stored answer
  /// Answers that differ from the emulator's, in the order of the ops.
  std::vector<Known> known;
  /// Answers that depend on more than the program, in the order of the ops. The file does not name
  /// these ops, because a comparison finds them as the recorder did.
  std::vector<AnswerWord> by_layout;

  const AnswerWord* known_answer(std::size_t op) const;
};

/// Consecutive programs of one seed: one run of a recorder.
struct RecordedPart {
  std::uint64_t seed = 0, programs = 0;
};

struct AbridgedFile {
  std::string header;          ///< the header of the full recording, without its first line
  std::uint8_t generator = 0;  ///< the generator of the programs, as the recorder numbers it
  unsigned group = 1;          ///< programs per digest
  std::vector<RecordedPart> parts;
  std::vector<ProgramBytes> programs;
  std::vector<Abridged> abridged;  ///< one per program
  std::vector<std::uint32_t> digests;
};
using Generator = std::function<ProgramBytes(std::uint64_t seed, std::uint64_t number)>;

/// The parts of a recording that begins with this seed. Recorders that ran at the same time, and
/// whose files were joined, used the following seeds.
std::vector<RecordedPart> parts_of(const std::vector<ProgramBytes>& programs, std::uint64_t seed,
                                   const Generator& generator);
/// The bytes of the file behind its first line. Programs that the generator makes differently are
/// stored.
std::string abridged_bytes(const AbridgedFile& file, const Generator& generator);
/// Reads abridged_bytes(). Any bytes are safe to read; returns an error, or "". Keeps one of
/// `every` groups. Asks for `generator` once the header is read.
std::string read_abridged(std::string_view bytes, std::size_t header_bytes, std::size_t every,
                          const std::function<Generator(const AbridgedFile&)>& generator,
                          AbridgedFile& out);

/// Makes the digests of a driver's answers, program by program, and compares them with recorded
/// ones.
class DigestCheck {
 public:
  /// Without recorded digests, the class only makes digests.
  DigestCheck(const std::vector<std::uint32_t>& recorded, unsigned group)
      : recorded_(recorded), group_(group) {}

  struct Mismatch {
    std::size_t
        first = 0,
        last = 0;  ///< the first and the last program of the group, by their place in the recording
    /// The one call that differs, if only one does.
    std::optional<std::size_t> program;
    std::size_t op = 0;
    AnswerDigest digest;
    std::size_t place = 0;
    std::uint32_t recorded = 0;
    /// Whether the driver gave this answer to the call.
    bool gave(const AnswerWord& answer) const { return digest.becomes(recorded, place, answer); }
  };

  /// Adds an answer to the digest.
  void add(std::size_t op, const AnswerWord& answer);
  /// The rest of the program is not compared, although it was compared when the digest was made.
  void cut() { cut_ = true; }
  /// Whether the next end_program() ends a group.
  bool ends_group(bool last) const { return last || (program_ + 1) % group_ == 0; }
  /// Must be called after each program; `last` after the last one.
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
