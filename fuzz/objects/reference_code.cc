// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, their kernels and variables. An H100 gave the answers to bad texts and names.
#include <algorithm>

#include "fuzz/objects/reference.h"

namespace cuvmm::fuzz::objects {

Expectation Reference::expect_code(const Op& op) const {
  switch (op.code) {
    case Code::kModule:
    case Code::kLibrary: {
      const auto& object = op.code == Code::kModule ? modules_[op["u"]] : libraries_[op["l"]];
      if (lives(object) || op["text"] >= std::size(kTexts)) return kSkip;
      // A library's text is read at its first use.
      if (op.code == Code::kLibrary) return {};
      return {.result = kTexts[op["text"]].as_module};
    }
    case Code::kModuleEnd: {
      const auto& module = modules_[op["u"]];
      // No document says what the end of a library's module is.
      if (!module || module->library) return kSkip;
      return module->live ? Expectation{} : kRefused;
    }
    case Code::kLibraryEnd:
      if (!libraries_[op["l"]]) return kSkip;
      return libraries_[op["l"]]->live ? Expectation{} : kRefused;
    case Code::kLibraryModule: {
      const auto& library = libraries_[op["l"]];
      if (!library || lives(modules_[op["u"]])) return kSkip;
      return library->live && library->text->as_module == CUDA_SUCCESS ? Expectation{} : kRefused;
    }
    case Code::kRun:
      return expect_run(op);
    default:
      return expect_question(op);
  }
}

// A question for a kernel or a variable by its name.
Expectation Reference::expect_question(const Op& op) const {
  const bool of_module = op.code == Code::kFunction || op.code == Code::kGlobal;
  const bool kernel = op.code == Code::kFunction || op.code == Code::kKernel;
  const auto& code = of_module ? modules_[op["u"]] : libraries_[op["l"]];
  const unsigned name = op["name"];
  if (!code || name >= kKernels.size()) return kSkip;
  if (!kernel && (op["m"] < kLinears || memories_[op["m"]])) return kSkip;
  if (!code->live || (code->library && !code->library->live)) return kRefused;
  if (code->text->as_module != CUDA_SUCCESS) return kRefused;
  if (*kKernels[name] == '\0') {
    // An H100 was not asked for a library's kernel without a name.
    return op.code == Code::kKernel ? kRefused : Expectation{.result = CUDA_ERROR_INVALID_VALUE};
  }
  const bool has = kernel ? has_kernel(*code->text, name) : has_variable(*code->text, name);
  return {.result = has ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND};
}

Expectation Reference::expect_run(const Op& op) const {
  const auto& function = functions_[op["f"]];
  const BlockPtr& to = memories_[op["m"]];
  if (!function) return kSkip;
  const Loaded& code = *function->code;
  if (!code.live || (code.library && !code.library->live)) return kRefused;
  if (function->name == 1) return {};  // it has no parameter
  if (!lives(to) || op["at"] % 4 != 0 || op["at"] + 4 > to->bytes.size()) return kSkip;
  return {};
}

std::string Reference::accept_variable(const Op& op, const Answer& answer) {
  const bool of_module = op.code == Code::kGlobal;
  Loaded& named = of_module ? *modules_[op["u"]] : *libraries_[op["l"]];
  // A library's module has the library's variables.
  Loaded& code = named.library ? *named.library : named;
  BlockPtr& variable = code.variables[op["name"]];
  if (answer.size != kVariableBytes) return "another size than that of the variable";
  if (!variable) {
    variable = std::make_shared<Block>(Block{std::vector<int>(kVariableBytes, 0), answer.value});
    if (op["name"] == 0) {
      for (int i = 0; i < 4; ++i) variable->bytes[static_cast<std::size_t>(4 * i)] = i + 1;
    }
    if (reused(*variable)) return "the address of memory that lives";
    blocks_.push_back(variable);
  } else if (variable->address != 0 && variable->address != answer.value) {
    return "another address than before";
  }
  variable->address = answer.value;
  memories_[op["m"]] = variable;
  return "";
}

std::string Reference::accept_code(const Op& op, const Answer& answer) {
  const auto end = [](Loaded& code) {
    code.live = false;
    for (const BlockPtr& variable : code.variables) {
      if (variable) variable->live = false;
    }
  };
  switch (op.code) {
    case Code::kModule:
      modules_[op["u"]] = std::make_shared<Loaded>(Loaded{&kTexts[op["text"]], answer.value});
      return "";
    case Code::kLibrary:
      libraries_[op["l"]] = std::make_shared<Loaded>(Loaded{&kTexts[op["text"]], answer.value});
      return "";
    case Code::kLibraryModule: {
      const auto& library = libraries_[op["l"]];
      modules_[op["u"]] =
          std::make_shared<Loaded>(Loaded{library->text, answer.value, true, {}, library});
      return "";
    }
    case Code::kModuleEnd:
      end(*modules_[op["u"]]);
      return "";
    case Code::kLibraryEnd:
      end(*libraries_[op["l"]]);
      for (const auto& module : modules_) {
        if (module && module->library == libraries_[op["l"]]) module->live = false;
      }
      return "";
    case Code::kFunction:
    case Code::kKernel: {
      const auto& code = op.code == Code::kFunction ? modules_[op["u"]] : libraries_[op["l"]];
      functions_[op["f"]] = std::make_shared<Function>(Function{code, op["name"]});
      return "";
    }
    case Code::kRun: {
      const Function& function = *functions_[op["f"]];
      Loaded& code = function.code->library ? *function.code->library : *function.code;
      if (function.name == 1) {
        // The counter may not have been asked for yet.
        BlockPtr& counter = code.variables[0];
        if (!counter) {
          counter = std::make_shared<Block>(Block{std::vector<int>(kVariableBytes, 0)});
          for (int i = 0; i < 4; ++i) counter->bytes[static_cast<std::size_t>(4 * i)] = i + 1;
        }
        unsigned word = 0;
        for (int i = 3; i >= 0; --i) {
          const int byte = counter->bytes[static_cast<std::size_t>(i)];
          if (byte < 0) return std::fill_n(counter->bytes.begin(), 4, -1), "";
          word = word << 8 | static_cast<unsigned>(byte);
        }
        ++word;
        for (std::size_t i = 0; i < 4; ++i)
          counter->bytes[i] = static_cast<int>(word >> (8 * i) & 255);
        return "";
      }
      const unsigned word = op["value"] + code.text->added;
      for (unsigned i = 0; i < 4; ++i) {
        memories_[op["m"]]->bytes[op["at"] + i] = static_cast<int>(word >> (8 * i) & 255);
      }
      return "";
    }
    default:
      return accept_variable(op, answer);
  }
}

}  // namespace cuvmm::fuzz::objects
