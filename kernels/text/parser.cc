// SPDX-License-Identifier: Apache-2.0
#include "kernels/text/parser.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "kernels/text/declaration.h"

namespace cuvmm::kernels {

namespace {

// Compilers nest only a few; labels and names are looked up in all scopes.
constexpr int kDeepestScope = 256;

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), reader_(module.text) {}

  Error parse() {
    while (reader_.good() && reader_.token().kind != Token::Kind::kEnd) statement();
    return reader_.error();
  }

 private:
  bool at(std::string_view what) const { return reader_.at(what); }

  void statement() {
    const Token begin = reader_.token();
    bool is_extern = false, may_repeat = false;
    const auto linkage = [&] {
      return at(".visible") || at(".extern") || at(".weak") || at(".common");
    };
    const bool is_local = !linkage();
    while (linkage()) {
      is_extern |= at(".extern");
      may_repeat |= at(".weak") || at(".common");
      reader_.advance();
    }
    if (at(".entry") || at(".func")) return function(is_extern, may_repeat, is_local);
    if (at(".section")) return section();
    if (begin.is(".version") || begin.is(".target") || begin.is(".address_size")) return header();
    if (begin.is(".file") || begin.is(".loc")) return reader_.skip_line();
    if (at(".alias") || at(".pragma") || at(".weak")) return reader_.skip_statement();
    if (at(";")) return reader_.advance();
    if (space_named(reader_.word_behind_dot()) == Space::kNone) {
      return reader_.fail("expected a directive, a variable or a function");
    }
    const std::size_t first = module_.variables.size();
    reader_.variables(module_.variables);
    for (std::size_t i = first; i < module_.variables.size(); ++i) {
      module_.variables[i].is_extern = is_extern;
      module_.variables[i].may_repeat = may_repeat;
      module_.variables[i].is_local = is_local;
      const auto [known, added] = module_.variable_at.try_emplace(module_.variables[i].name, i);
      if (!added && !is_extern) known->second = i;
    }
  }

  // Reads .version 8.0, .target sm_90, debug or .address_size 64.
  void header() {
    const Token word = reader_.token();
    reader_.advance();
    const Token value = reader_.token();
    if (word.is(".address_size")) {
      module_.address_bits = static_cast<unsigned>(std::min<std::uint64_t>(value.value, 1024));
    } else if (word.is(".version")) {
      const unsigned version = version_of(value.text);
      if (version == 0) reader_.fail("expected a version");
      module_.version = std::max(module_.version, version);  // of texts that were linked
    } else if (module_.target.empty()) {
      module_.target = value.text;
    }
    reader_.advance();
    while (at(",")) {  // options of the target
      reader_.advance();
      reader_.advance();
    }
  }

  // 803 for "8.3"; 0 for what is no version.
  static unsigned version_of(std::string_view text) {
    unsigned parts[2] = {};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (unsigned& part : parts) {
      const auto read = std::from_chars(at, end, part);
      if (read.ec != std::errc{} || part > 999) return 0;
      if (&part == parts && (read.ptr == end || *read.ptr != '.')) return 0;
      at = read.ptr + 1;
    }
    return at == end + 1 ? parts[0] * 100 + parts[1] : 0;
  }

  // Skips a section of debug information.
  void section() {
    reader_.advance();
    while (reader_.good() && !at("{")) reader_.advance_in_statement();
    for (int depth = 0; reader_.good();) {
      depth += at("{") ? 1 : at("}") ? -1 : 0;
      reader_.advance_in_statement();
      if (depth == 0) return;
    }
  }

  void parameters(std::vector<Variable>& out) {
    reader_.expect("(");
    while (reader_.good() && !at(")")) {
      reader_.variable(out);
      if (!at(")")) reader_.expect(",");
    }
    reader_.expect(")");
  }

  void function(bool is_extern, bool may_repeat, bool is_local) {
    Function out;
    out.entry = at(".entry");
    out.is_extern = is_extern;
    out.may_repeat = may_repeat;
    out.is_local = is_local;
    out.at = reader_.token().at;
    reader_.advance();
    while (at(".attribute")) attribute();
    if (at("(")) parameters(out.returned);
    out.name = reader_.name();
    if (at("(")) parameters(out.parameters);
    while (reader_.good() && !at("{") && !at(";")) directive(out);
    out.defined = at("{");
    reader_.advance();
    if (out.defined) body(out);
    const std::size_t at = module_.functions.size();
    const auto [known, added] = module_.function_at.try_emplace(out.name, at);
    if (!added && out.defined && !module_.functions[known->second].defined) known->second = at;
    module_.functions.push_back(std::move(out));
  }

  void attribute() {
    reader_.advance();
    reader_.expect("(");
    while (reader_.good() && !at(")")) reader_.advance_in_statement();
    reader_.expect(")");
  }

  // Reads .maxntid 128, 1, 1 and related directives.
  void directive(Function& out) {
    const Token word = reader_.token();
    if (word.kind != Token::Kind::kWord || word.text[0] != '.') {
      return reader_.fail("expected the body of a function");
    }
    if (word.is(".attribute")) return attribute();
    reader_.advance();
    unsigned values[3] = {1, 1, 1};
    for (std::size_t i = 0; reader_.good(); ++i) {
      const Token::Kind kind = reader_.token().kind;
      if (kind != Token::Kind::kInteger && kind != Token::Kind::kString) break;
      if (i < 3) values[i] = static_cast<unsigned>(reader_.token().value);
      reader_.advance();
      if (!at(",")) break;
      reader_.advance();
    }
    if (word.is(".maxntid")) std::copy_n(values, 3, out.most_threads);
    if (word.is(".reqntid")) std::copy_n(values, 3, out.exact_threads);
    if (word.is(".reqnctapercluster")) std::copy_n(values, 3, out.cluster);
    if (word.is(".pragma") && at(";")) reader_.advance();
  }

  void body(Function& out) {
    for (int depth = 1; reader_.good();) {
      Statement statement;
      statement.at = reader_.token().at;
      if (at("{") || at("}")) {
        depth += at("{") ? 1 : -1;
        statement.kind = at("{") ? Statement::Kind::kOpen : Statement::Kind::kClose;
        reader_.advance();
        if (depth == 0) return;
        if (depth > kDeepestScope) return reader_.fail("too many scopes in each other");
        out.statements.push_back(std::move(statement));
      } else if (at(".loc") || at(".file")) {
        reader_.skip_line();
      } else if (at(".pragma")) {
        reader_.skip_statement();
      } else if (at(";")) {
        reader_.advance();
      } else if (space_named(reader_.word_behind_dot()) != Space::kNone) {
        declaration(out, std::move(statement));
      } else {
        label_or_instruction(out, std::move(statement));
      }
    }
  }

  void declaration(Function& out, Statement&& statement) {
    statement.kind = Statement::Kind::kVariable;
    const std::size_t first = out.variables.size();
    reader_.variables(out.variables);
    for (std::size_t i = first; i < out.variables.size(); ++i) {
      const Variable& made = out.variables[i];
      const bool lasts = made.space == Space::kGlobal || made.space == Space::kConst;
      if (lasts && module_.variable_at.try_emplace(made.name, module_.variables.size()).second) {
        module_.variables.push_back(made);  // it lives as long as the module
        continue;
      }
      statement.variable = i;
      out.statements.push_back(statement);
    }
  }

  void label_or_instruction(Function& out, Statement&& statement) {
    if (at("@")) {
      reader_.advance();
      statement.guard_negated = at("!");
      if (at("!")) reader_.advance();
      statement.guard = reader_.name();
    }
    if (reader_.token().kind != Token::Kind::kWord) {
      return reader_.fail("expected an instruction");
    }
    statement.name = reader_.name();
    if (statement.guard.empty() && at(":")) {
      reader_.advance();
      if (at(".branchtargets") || at(".calltargets")) {
        statement.kind = Statement::Kind::kTargets;
        reader_.advance();
      } else if (at(".callprototype")) {
        return reader_.skip_statement();
      } else {
        statement.kind = Statement::Kind::kLabel;
        out.statements.push_back(std::move(statement));
        return;
      }
    }
    while (reader_.good() && !reader_.word_behind_dot().empty()) {  // `add .u32`
      statement.name =
          module_.joined.emplace_back(std::string(statement.name) + std::string(reader_.name()));
    }
    const bool has_lists = statement.name.starts_with("call");
    while (reader_.good() && !at(";")) {
      statement.operands.push_back(reader_.operand(has_lists));
      if (!at(";")) reader_.expect(",");
    }
    reader_.expect(";");
    if (reader_.good()) out.statements.push_back(std::move(statement));
  }

  Module& module_;
  Reader reader_;
};

}  // namespace

const Function* Module::function(std::string_view name) const {
  const auto known = function_at.find(name);
  return known == function_at.end() ? nullptr : &functions[known->second];
}

std::uint64_t Module::address_of(std::string_view name) const {
  constexpr unsigned kStep = 16;
  const auto known = function_at.find(name);
  if (known == function_at.end() || !functions[known->second].defined) return 0;
  return kCodeWindow | (known->second + 1) * kStep;
}

const Variable* Module::variable(std::string_view name) const {
  const auto known = variable_at.find(name);
  return known == variable_at.end() ? nullptr : &variables[known->second];
}

bool looks_like_ptx(std::string_view text) {
  Lexer lexer(text);
  bool version = false, target = false;
  for (Token token = lexer.next(); token.kind != Token::Kind::kEnd && !(version && target);
       token = lexer.next()) {
    if (token.kind == Token::Kind::kBad) return false;
    version |= token.is(".version");
    target |= token.is(".target");
  }
  return version && target;
}

std::shared_ptr<const Module> parse(std::string_view text, Error& error) {
  auto module = std::make_shared<Module>();
  module->text = text;
  error = Parser(*module).parse();
  if (error) return nullptr;
  return module;
}

}  // namespace cuvmm::kernels
