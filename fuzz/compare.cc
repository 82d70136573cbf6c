// A recording held against another driver.
#include <algorithm>
#include <map>

#include "fuzz/record.h"

namespace cuvmm::fuzz {

namespace {

std::string reason_of(const std::string& kind, std::string_view permitted) {
  while (!permitted.empty()) {
    const std::size_t end = std::min(permitted.find('\n'), permitted.size());
    const std::string_view line = permitted.substr(0, end);
    permitted.remove_prefix(std::min(end + 1, permitted.size()));
    const std::size_t mark = line.find(" # ");
    if (mark == std::string_view::npos || mark == 0) continue;
    if (kind.rfind(line.substr(0, mark), 0) == 0) return std::string(line.substr(mark + 3));
  }
  return {};
}

std::string answer_text(bool run, bool left_out, CUresult result, std::uint32_t value) {
  if (left_out) return "left out";
  if (!run) return "not run";
  return result_name(result) + (value ? " =" + std::to_string(value) : "");
}

}  // namespace

Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   std::string_view permitted) {
  Comparison out;
  ProfileResult loaded = load_profile(profile.empty() ? builtin_profiles().front() : profile);
  Differential machine(driver, std::move(loaded.profile),
                       {.spare = true, .wait = false, .charge = false});
  out.error = loaded.error.empty() ? machine.error() : loaded.error;
  if (!out.error.empty()) return out;
  if (machine.machine().devices() != recording.machine.devices) {
    out.error = "the recording has another number of devices (CUVMM_DEVICES)";
    return out;
  }
  std::map<std::string, Difference> kinds;
  for (const RecordedProgram& program : recording.programs) {
    const Result here = machine.run(program.ops);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const RecordedAnswer& there = program.answers[i];
      const Step& step = here.steps[i];
      const bool left_out = there.how == RecordedAnswer::How::kLeftOut;
      if (there.how == RecordedAnswer::How::kDied) break;
      const bool run = there.how == RecordedAnswer::How::kDone;
      ++out.calls;
      const bool same_value =
          there.value == step.answer.value || step.judgement.unpredictable || !run;
      const bool same = left_out == step.skipped &&
                        (left_out || (run == step.answer.run &&
                                      (!run || there.result == step.answer.result) && same_value));
      if (same) continue;
      std::string kind =
          std::string(shape(program.ops[i].code).function) + ": recorded " +
          answer_text(run, left_out, there.result, there.value) + ", here " +
          answer_text(step.answer.run, step.skipped, step.answer.result, step.answer.value);
      for (int j = 0; j < step.judgement.count; ++j) {
        kind += std::string(" !") + info(step.judgement.broken[j]).id;
      }
      Difference& difference = kinds[kind];
      if (difference.count++ == 0) {
        const Ops head(program.ops.begin(),
                       program.ops.begin() + static_cast<std::ptrdiff_t>(i + 1));
        difference.kind = kind;
        difference.example = to_text(head, notes_of(here));
        difference.reason = left_out != step.skipped
                                ? "addresses lie elsewhere here, so that only one driver was asked"
                                : reason_of(kind, permitted);
      }
      // Two refusals leave both machines as they were.
      const bool harmless = run && step.answer.run && there.result != CUDA_SUCCESS &&
                            step.answer.result != CUDA_SUCCESS;
      if (!harmless) break;
    }
  }
  for (auto& [kind, difference] : kinds) {
    if (difference.reason.empty()) out.unexplained += difference.count;
    out.differences.push_back(std::move(difference));
  }
  std::sort(out.differences.begin(), out.differences.end(),
            [](const Difference& a, const Difference& b) { return a.count > b.count; });
  return out;
}

}  // namespace cuvmm::fuzz
