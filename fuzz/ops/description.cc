// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/description.h"

#include "fuzz/ops/endpoint_sources.h"
#include "fuzz/ops/further_sources.h"

namespace cuvmm::fuzz {

namespace {

namespace parts {

using namespace source;

template <class From>
constexpr Part part(const char* parameter) {
  return {parameter,     From::kUses,         From::kRef,  From::kRef2,
          From::kStated, &From::canonicalise, &From::text, &From::read};
}

#define CUVMM_FUZZ_PART(parameter, ...) part<__VA_ARGS__>(#parameter),
#define CUVMM_FUZZ_PARTS(name, ...) \
  constexpr Part name[] = {CUVMM_FOR_EACH(CUVMM_FUZZ_PART, __VA_ARGS__)};
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) CUVMM_FUZZ_PARTS(code##Call##_, __VA_ARGS__)
#define CUVMM_FUZZ_OP_ALSO(code, extra, Call, ...) CUVMM_FUZZ_PARTS(code##Call##_, __VA_ARGS__)
#define CUVMM_FUZZ_PSEUDO(code, who, makes, function, ...) \
  CUVMM_FUZZ_PARTS(function##_, __VA_ARGS__)
#include "fuzz/ops/ops.def"
#undef CUVMM_FUZZ_PARTS
#undef CUVMM_FUZZ_PART

}  // namespace parts

constexpr Description kDescriptions[] = {
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) \
  {Code::k##code, 0, "cu" #Call, parts::code##Call##_},
#define CUVMM_FUZZ_OP_ALSO(code, extra, Call, ...) \
  {Code::k##code, extra, "cu" #Call, parts::code##Call##_},
#define CUVMM_FUZZ_PSEUDO(code, who, makes, function, ...) \
  {Code::k##code, 0, #function, parts::function##_},
#include "fuzz/ops/ops.def"
};

constexpr NameKind kMakes[kCodes] = {
#define CUVMM_FUZZ_OP(code, who, makes, ...) NameKind::k##makes,
#define CUVMM_FUZZ_PSEUDO(code, who, makes, ...) NameKind::k##makes,
#include "fuzz/ops/ops.def"
};

// For each code: its first description, the kinds of its names, the fields that it uses.
struct Summary {
  const Description* first = nullptr;
  Shape shape;
  Op used{.name = source::kAll, .actor = source::kAll};
};
struct Summaries {
  Summary of[kCodes];
};
constexpr Summaries kSummaries = [] {
  Summaries all;
  for (const Description& description : kDescriptions) {
    Summary& summary = all.of[static_cast<std::size_t>(description.code)];
    if (!summary.first) summary.first = &description;
    summary.shape.makes = kMakes[static_cast<std::size_t>(description.code)];
    for (const Part& part : description.parts) {
      summary.used = source::joined(summary.used, part.uses);
      if (part.ref != NameKind::kNone) summary.shape.ref = part.ref;
      if (part.ref2 != NameKind::kNone) summary.shape.ref2 = part.ref2;
    }
  }
  return all;
}();

const Summary& summary_of(Code code) { return kSummaries.of[static_cast<std::size_t>(code)]; }

}  // namespace

std::span<const Description> descriptions() { return kDescriptions; }

const Description& describe(Code code) { return *summary_of(code).first; }

const Description& describe(const Op& op) {
  const Description* found = summary_of(op.code).first;
  for (const Description* d = found; d != std::end(kDescriptions) && d->code == op.code; ++d) {
    if (d->extra == op.extra) found = d;
  }
  return *found;
}

std::vector<const Description*> find_descriptions(std::string_view function) {
  std::vector<const Description*> found;
  for (const Description& description : kDescriptions) {
    if (function == description.function) found.push_back(&description);
  }
  return found;
}

const Shape& shape(Code code) { return summary_of(code).shape; }
const Op& used_by(Code code) { return summary_of(code).used; }

void canonicalise(Op& op) {
  const auto code = static_cast<Code>(static_cast<std::size_t>(op.code) % kCodes);
  const Shape& s = shape(code);
  op = source::masked(op, used_by(code));
  op.code = code;
  if (s.makes == NameKind::kNone) {
    op.name = 0;
  } else if (op.name == 0) {
    op.name = 1;
  }
  op.actor = source::wrapped(op.actor, kActors);
  if (!crosses(code)) op.actor = source::wrapped(op.actor, kThreads);
  for (const Part& part : describe(code).parts) part.canonicalise(op);
}

}  // namespace cuvmm::fuzz
