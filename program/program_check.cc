// SPDX-License-Identifier: Apache-2.0
// Finds a program's mistakes beyond its grammar, by a run of the resolver without a driver.
#include <set>

#include "program/kernel/kernels.h"
#include "program/program.h"
#include "program/resolve.h"

namespace cuvmm::program {

namespace {

/// Every name that is bound so far has a value; the checker does not need the value itself.
class BoundNames : public NameSource {
 public:
  void bind(const std::string& name) { names_.insert(name); }
  std::optional<std::uint64_t> lookup(std::string_view name) override {
    return names_.contains(name) ? std::optional<std::uint64_t>(1) : std::nullopt;
  }
  void* buffer(std::size_t, unsigned char) override { return nullptr; }
  std::string missing(std::string_view name) const override {
    return "expected a name that an earlier statement binds, found '" + std::string(name) + "'";
  }

 private:
  std::set<std::string, std::less<>> names_;
};

void check_pseudo(const BoundArguments& bound, Resolver& resolver) {
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    if (!bound.values[i]) continue;
    if (bound.signature->parameters[i].kind == ParameterKind::kOpaque) {
      resolver.string(*bound.values[i]);
    } else {
      const Pseudo pseudo = bound.signature->pseudo;
      const std::uint64_t number = resolver.number(*bound.values[i], words_of(pseudo, i));
      if (pseudo == Pseudo::kKernel && !kernel_name(number)) {
        resolver.fail(*bound.values[i], "expected a kernel: nothing, fill, copy or fill_struct");
      }
    }
  }
}

}  // namespace

void check_program(const Program& program, std::vector<ParseError>& errors) {
  BoundNames names;
  for (const Statement& statement : program.statements) {
    std::vector<ArgumentError> mistakes;
    if (const FunctionSignature* function = find_function(statement.function)) {
      const BoundArguments bound = bind_arguments(*function, statement.arguments, mistakes);
      if (mistakes.empty()) {
        Resolver resolver(names);
        if (function->pseudo == Pseudo::kNone) {
          CallStorage storage;
          resolver.call(bound, storage);
        } else {
          check_pseudo(bound, resolver);
        }
        mistakes = resolver.errors();
      }
    } else {
      mistakes.push_back(
          {0, "expected a function of the vocabulary, found '" + statement.function + "'"});
    }
    for (ArgumentError& mistake : mistakes) {
      errors.push_back(
          {statement.line, mistake.column ? mistake.column : 1, std::move(mistake.message)});
    }
    if (!statement.result.empty()) names.bind(statement.result);
  }
}

}  // namespace cuvmm::program
