// SPDX-License-Identifier: Apache-2.0
// Random programs: the printed text reads back the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "program/program.h"

namespace cuvmm::program {
namespace {

// --- parse(print(p)) == p

rc::Gen<std::string> any_name() {
  return rc::gen::map(rc::gen::inRange(0, 50), [](int i) { return "n_" + std::to_string(i); });
}

Value leaf(Value::Kind kind, std::uint64_t number, std::string text) {
  Value value;
  value.kind = kind;
  value.number = number;
  value.text = std::move(text);
  return value;
}

Value any_value(int depth);

std::vector<Argument> any_parts(int depth, bool keys, int least, int most) {
  std::vector<Argument> parts;
  const int count = *rc::gen::inRange(least, most + 1);
  for (int i = 0; i < count; ++i) {
    parts.push_back({keys && *rc::gen::arbitrary<bool>() ? *any_name() : "", any_value(depth)});
  }
  return parts;
}

// The values that may stand inside a sum: numbers, names, calls.
Value any_term(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 4 : 3)) {
    case 0:
      return leaf(Value::Kind::kNumber, *rc::gen::arbitrary<std::uint64_t>(), "");
    case 1:
      return leaf(Value::Kind::kNumber, std::uint64_t{1} << *rc::gen::inRange(0, 64), "");
    case 2:
      return leaf(Value::Kind::kName, 0, *any_name());
    default: {
      Value call = leaf(Value::Kind::kCall, 0, *any_name());
      call.parts = any_parts(depth - 1, true, 0, 3);
      return call;
    }
  }
}

Value any_sum(int depth) {
  Value sum = leaf(Value::Kind::kSum, 0, "");
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    sum.parts.push_back({*rc::gen::arbitrary<bool>() ? "-" : "", any_term(depth)});
  }
  return count == 1 && sum.parts[0].key.empty() ? sum.parts[0].value : sum;
}

Value any_chain(Value::Kind kind, int depth, int most) {
  Value chain = leaf(kind, 0, "");
  const int count = *rc::gen::inRange(2, most + 1);
  for (int i = 0; i < count; ++i) chain.parts.push_back({"", any_sum(depth)});
  return chain;
}

Value any_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 3)) {
    case 0:
      return leaf(Value::Kind::kNull, 0, "");
    case 1:
      return leaf(Value::Kind::kString, 0, "/dev/" + *any_name());
    case 2:
      return any_sum(depth);
    case 3:
      return any_chain(Value::Kind::kAny, depth, 3);
    case 4:
      return any_chain(Value::Kind::kPair, depth, 2);
    case 5: {
      Value list = leaf(Value::Kind::kList, 0, "");
      list.parts = any_parts(depth - 1, false, 0, 3);
      return list;
    }
    default: {
      Value record = leaf(Value::Kind::kRecord, 0, "");
      record.parts = any_parts(depth - 1, true, 0, 3);
      return record;
    }
  }
}

TEST(PrintProgram, ReadsBackTheSame) {
  const bool holds = rc::check("parse(print(p)) == p", [] {
    Program program;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
      Statement statement;
      statement.process = *rc::gen::inRange(0, 3);
      statement.thread = *rc::gen::inRange(0, 3);
      if (*rc::gen::arbitrary<bool>()) statement.result = *any_name();
      statement.function = *any_name();
      statement.arguments = any_parts(3, true, 0, 4);
      if (*rc::gen::arbitrary<bool>()) {
        statement.expected =
            *rc::gen::element(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN);
        if (*rc::gen::arbitrary<bool>()) statement.expected_value = "-17";
        for (int k = *rc::gen::inRange(0, 3); k > 0; --k)
          statement.breaks.push_back("cuMemMap-" + *any_name());
      }
      if (*rc::gen::arbitrary<bool>()) statement.note = "a note # with " + *any_name();
      program.statements.push_back(statement);
    }
    const std::string text = print(program);
    Program read;
    std::vector<ParseError> errors;
    std::size_t at = text.find('\n') + 1;
    for (int line = 2; at < text.size(); ++line) {
      const std::size_t end = text.find('\n', at);
      auto statement = parse_statement(std::string_view(text).substr(at, end - at), line, errors);
      RC_ASSERT(statement.has_value());
      read.statements.push_back(*statement);
      at = end + 1;
    }
    RC_ASSERT(errors.empty());
    RC_ASSERT(read == program);
  });
  EXPECT_TRUE(holds);
}

TEST(PrintProgram, AnyBytesAreReadWithoutACrash) {
  EXPECT_TRUE(rc::check("parse terminates", [](const std::string& text) {
    (void)parse_program(text);
    (void)parse_program("f(" + text + ")");
  }));
}

}  // namespace
}  // namespace cuvmm::program
