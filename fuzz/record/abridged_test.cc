// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/abridged.h"

#include <algorithm>

#include "fuzz/ops/layout.h"
#include "fuzz/record/record.h"
#include "fuzz/search/testing_machine.h"

namespace cuvmm::fuzz {
namespace {

AnswerWord answer(std::uint16_t result, std::uint32_t value = 0) { return {1, result, value}; }

AnswerDigest digest_of(const std::vector<AnswerWord>& answers) {
  AnswerDigest out;
  for (const AnswerWord& each : answers) out.add(each);
  return out;
}

TEST(AnswerDigest, SaysWhichAnswerDiffersAndWhatItWas) {
  std::vector<AnswerWord> recorded;
  for (std::uint32_t i = 0; i < 120; ++i) recorded.push_back(answer(i % 7 ? 0 : 1, i));
  const std::uint32_t sum = digest_of(recorded).sum();
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    std::vector<AnswerWord> here = recorded;
    here[i] = answer(999);
    const AnswerDigest digest = digest_of(here);
    EXPECT_NE(digest.sum(), sum);
    EXPECT_EQ(digest.only_difference(sum), i);
    EXPECT_TRUE(digest.becomes(sum, i, recorded[i]));
    EXPECT_FALSE(digest.becomes(sum, i, answer(998)));
  }
}

TEST(AnswerDigest, FollowsTheOrder) {
  EXPECT_NE(digest_of({answer(0), answer(1)}).sum(), digest_of({answer(1), answer(0)}).sum());
  EXPECT_NE(digest_of({answer(0)}).sum(), digest_of({answer(0), answer(0)}).sum());
}

// The emulator's answers to programs of a seed, as a driver's recording.
Recording full_recording(Programs programs, std::uint64_t seed, std::size_t count,
                         std::vector<Result>* results = nullptr) {
  Recording out;
  out.machine = {.gpu = "A GPU",
                 .driver_version = 13000,
                 .devices = emulated().machine().devices(),
                 .seed = seed};
  Differential machine(emulated().machine().driver(),
                       load_profile(builtin_profiles().front()).profile,
                       {.spare = true, .charge = false});
  for (std::size_t i = 0; i < count; ++i) {
    RecordedProgram program{program_of(programs, seed, i, out.machine.devices, 1), {}};
    program.answers.resize(program.ops.size());
    const Result result = machine.run(program.ops);
    for (std::size_t op = 0; op < result.steps.size(); ++op) {
      const Step& step = result.steps[op];
      if (step.skipped) program.answers[op].how = RecordedAnswer::How::kLeftOut;
      if (step.skipped || !step.answer.run) continue;
      program.answers[op] = {RecordedAnswer::How::kDone, step.answer.result, step.answer.value};
    }
    out.programs.push_back(std::move(program));
    if (results) results->push_back(result);
  }
  return out;
}

// Adds the answers of a program that no list of an abridged recording has.
void add_digested(AnswerDigest& digest, const RecordedProgram& program, const Result& here,
                  const Abridged& stored) {
  Layout layout;
  for (std::size_t k = 0; k < stored.end; ++k) {
    const RecordedAnswer& given = program.answers[k];
    const bool leaves = layout.leaves(program.ops[k]) != nullptr;
    given.how == RecordedAnswer::How::kDone&& given.result == CUDA_SUCCESS
        ? layout.succeeded(program.ops[k])
        : layout.failed(program.ops[k]);
    if (leaves || stored.known_answer(k)) continue;
    AnswerWord word = word_of(given);
    if (here.steps[k].judgement.unpredictable) word.value = 0;
    digest.add(word);
  }
}

std::string abridged(const Recording& full) {
  const Comparison all = compare(full, emulated().machine().driver(), "", {});
  EXPECT_EQ(all.error, "");
  return abridged_recording(full, all.abridged, all.digests, kDigestGroup);
}

// Changes the driver's answer to the first successful call of this kind into a refusal.
bool refuse_first(Recording& recording, Code code, std::size_t from) {
  for (std::size_t i = from; i < recording.programs.size(); ++i) {
    for (std::size_t op = 0; op < recording.programs[i].ops.size(); ++op) {
      RecordedAnswer& given = recording.programs[i].answers[op];
      if (recording.programs[i].ops[op].code != code || given.how != RecordedAnswer::How::kDone ||
          given.result != CUDA_SUCCESS) {
        continue;
      }
      given = {RecordedAnswer::How::kDone, CUDA_ERROR_NOT_READY, 0};
      return true;
    }
  }
  return false;
}

TEST(AbridgedRecording, ComparesAsTheFullOneDoes) {
  for (const Programs programs :
       {Programs::kAreas, Programs::kToday, Programs::kFurther, Programs::kTiles}) {
    Recording full = full_recording(programs, 5, 2 * kDigestGroup + 1);
    // A program in which the driver died is stored whole.
    full.programs[3].answers.back().how = RecordedAnswer::How::kDied;
    const std::string bytes = abridged(full);
    const Recording small = parse_recording(bytes);
    ASSERT_EQ(small.error, "");
    EXPECT_EQ(small.machine.gpu, "A GPU");
    EXPECT_EQ(small.machine.seed, 5u);
    ASSERT_EQ(small.programs.size(), full.programs.size());
    for (std::size_t i = 0; i < full.programs.size(); ++i) {
      EXPECT_EQ(small.programs[i].ops, full.programs[i].ops);
    }
    const Driver& driver = emulated().machine().driver();
    const Comparison one = compare(full, driver, "", {}), other = compare(small, driver, "", {});
    EXPECT_EQ(other.error, "");
    EXPECT_EQ(one.calls, other.calls);
    EXPECT_EQ(one.beyond, other.beyond);
    EXPECT_EQ(one.unexplained, other.unexplained);
    // The first group, and the third one with one program.
    EXPECT_EQ(parse_recording(bytes, 2).programs.size(), kDigestGroup + 1);
  }
}

TEST(AbridgedRecording, ACallThatDiffersIsNamedWithTheDriversAnswer) {
  // The recording has a refusal of one call, and a digest as if the emulator agreed. A comparison
  // with a changed emulator sees such a file.
  std::vector<Result> results;
  const Recording full = full_recording(Programs::kToday, 7, 40, &results);
  Recording refused = full;
  ASSERT_TRUE(refuse_first(refused, Code::kGetAccess, 10));
  Comparison of_refused = compare(full, emulated().machine().driver(), "", {});
  const Recording small = parse_recording(
      abridged_recording(full, of_refused.abridged, of_refused.digests, kDigestGroup));
  for (std::size_t i = 0; i < full.programs.size(); ++i) {
    if (refused.programs[i].answers.size() == 0) continue;
    std::size_t op = 0;
    while (op < full.programs[i].ops.size() &&
           word_of(full.programs[i].answers[op]) == word_of(refused.programs[i].answers[op])) {
      ++op;
    }
    if (op == full.programs[i].ops.size()) continue;
    // The digest of the group with that answer in its place.
    AnswerDigest digest;
    const std::size_t first = i - i % kDigestGroup;
    for (std::size_t p = first; p < std::min(first + kDigestGroup, full.programs.size()); ++p) {
      add_digested(digest, refused.programs[p], results[p], small.abridged[p]);
    }
    Recording changed = small;
    changed.digests[first / kDigestGroup] = digest.sum();
    const Comparison out = compare(changed, emulated().machine().driver(), "", {});
    ASSERT_EQ(out.unexplained, 1u);
    EXPECT_EQ(out.differences[0].kind.rfind("cuMemGetAccess: recorded CUDA_ERROR_NOT_READY, here "
                                            "CUDA_SUCCESS",
                                            0),
              0u)
        << out.differences[0].kind;
    EXPECT_NE(out.differences[0].example.find("program " + std::to_string(i) + ", call " +
                                              std::to_string(op)),
              std::string::npos)
        << out.differences[0].example;
    return;
  }
  FAIL();
}

TEST(AbridgedRecording, AProgramWithAnUnexplainedDifferenceIsKeptUpToIt) {
  Recording full = full_recording(Programs::kToday, 7, 40);
  ASSERT_TRUE(refuse_first(full, Code::kGetAccess, 10));
  full.programs[20].answers[3].how = RecordedAnswer::How::kDied;
  const Driver& driver = emulated().machine().driver();
  const Comparison whole = compare(full, driver, "", {});
  const Comparison cut = compare(full, driver, "", {.permitted = {}, .cut = true});
  EXPECT_EQ(whole.unexplained, 2u);
  EXPECT_EQ(whole.cuts, 0u);
  EXPECT_EQ(cut.unexplained, 0u);
  EXPECT_EQ(cut.cuts, 2u);
  EXPECT_LT(cut.calls, whole.calls);
  const Recording small =
      parse_recording(abridged_recording(full, cut.abridged, cut.digests, kDigestGroup));
  const Comparison again = compare(small, driver, "", {});
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.unexplained, 0u);
  EXPECT_EQ(again.calls, cut.calls);
  // The rest of both programs is beyond comparison, and no permitted difference cuts.
  EXPECT_EQ(again.beyond, cut.beyond);
  EXPECT_GT(cut.beyond, whole.beyond);
  EXPECT_EQ(compare(full, driver, "", {"cuMemGetAccess: recorded # a test", true}).cuts, 1u);
}

TEST(AbridgedRecording, AnswersThatDependOnTheLayoutAreStoredInOrder) {
  const Recording full = full_recording(Programs::kToday, 7, 40);
  Recording small = parse_recording(abridged(full));
  const auto answers = [&] {
    std::size_t out = 0;
    for (const Abridged& program : small.abridged) out += program.by_layout.size();
    return out;
  };
  EXPECT_GT(answers(), 0u);
  const Driver& driver = emulated().machine().driver();
  EXPECT_EQ(compare(small, driver, "", {}).unexplained, 0u);
  // A comparison that finds other calls than the recorder did says so.
  std::size_t spoilt = 0;
  for (Abridged& program : small.abridged) {
    if (program.end < full.programs[program.number].ops.size()) continue;
    program.by_layout.push_back({});
    ++spoilt;
  }
  EXPECT_EQ(compare(small, driver, "", {}).unexplained, spoilt);
}

TEST(AbridgedRecording, ProgramsThatTheGeneratorNoLongerMakesAreStored) {
  Recording full = full_recording(Programs::kToday, 9, 12);
  full.programs[4].ops.resize(5);
  full.programs[4].answers.resize(5);
  std::string bytes = abridged(full);
  EXPECT_EQ(parse_recording(bytes).programs[4].ops, full.programs[4].ops);
  // Another seed makes other programs; their hash shows it.
  const std::size_t seed = bytes.find('\n') + 1 + 64 + 4 + 4 + 8 + 4 + 3;
  ASSERT_EQ(bytes[seed], 9);
  bytes[seed] = 8;
  EXPECT_NE(parse_recording(bytes).error.find("the generator has changed"), std::string::npos);
}

TEST(AbridgedRecording, ACutOrForeignFileDoesNoHarm) {
  const std::string bytes = abridged(full_recording(Programs::kToday, 3, 6));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(parse_recording(bytes.substr(0, size)).error, "") << size;
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
