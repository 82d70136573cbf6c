// SPDX-License-Identifier: Apache-2.0
// Reads program text as ops: the source of each parameter (ops.def) reads its argument.
#include "fuzz/ops/description.h"
#include "fuzz/ops/text.h"

namespace cuvmm::fuzz {

using program::ArgumentError;
using program::bind_arguments;
using program::find_function;
using program::FunctionSignature;
using program::parse_program;
using program::ParsedProgram;
using program::Statement;

namespace {

class Reader {
 public:
  /// Returns "", or why the statement has no op.
  std::string read(const Statement& statement, Ops& ops) {
    const bool silent = statement.function == "init" || statement.function == "host" ||
                        statement.function == "bytes";
    if (silent && (statement.function != "init" || statement.thread == 0)) return {};
    const auto descriptions = find_descriptions(statement.function);
    if (descriptions.empty()) return "no op stands for " + statement.function;
    if (statement.process >= kProcesses) return "too many processes";
    if (statement.thread >= (statement.process ? 1 : kThreads)) return "too many threads";
    const FunctionSignature* signature = find_function(statement.function);
    if (!signature) return "unknown function";
    std::vector<ArgumentError> mistakes;
    state_.bound = bind_arguments(*signature, statement.arguments, mistakes);
    if (!mistakes.empty()) return mistakes.front().message;
    Op op;
    for (const Description* description : descriptions) {
      op = read_as(*description, *signature, statement);
      const auto& errors = state_.resolver.errors();
      if (!errors.empty()) return errors.front().message;
      if (state_.problem.empty()) break;
    }
    const NameKind makes = shape(op.code).makes;
    if (makes != NameKind::kNone) op.name = state_.names.bind(makes, statement.result);
    canonicalise(op);
    ops.push_back(op);
    return state_.problem;
  }

 private:
  // Reads the arguments as those of this op; state_.problem says why it cannot hold them.
  Op read_as(const Description& description, const FunctionSignature& signature,
             const Statement& statement) {
    Op op;
    op.code = description.code;
    op.extra = description.extra;
    op.actor = actor_of(statement.process, statement.thread);
    state_.problem.clear();
    for (std::size_t i = 0; i < description.parts.size(); ++i) {
      const auto words = words_of(signature.parameters[i].kind);
      description.parts[i].read(op, Argued(state_, state_.bound.values[i], words));
    }
    return op;
  }

  Argued::State state_;
};

}  // namespace

TextOps from_text(std::string_view text) {
  TextOps out;
  const ParsedProgram parsed = parse_program(text);
  if (!parsed.errors.empty()) {
    out.error = format_error(parsed.errors.front(), "program");
    return out;
  }
  Reader reader;
  for (const Statement& statement : parsed.program.statements) {
    const std::string problem = reader.read(statement, out.ops);
    if (problem.empty()) continue;
    out.error = std::to_string(statement.line) + ": " + problem;
    return out;
  }
  return out;
}

}  // namespace cuvmm::fuzz
