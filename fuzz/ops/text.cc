// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/text.h"

#include "fuzz/ops/description.h"

namespace cuvmm::fuzz {

using program::find_function;
using program::FunctionSignature;
using program::Parameter;

namespace {

/// Writes ops one after the other, and keeps the names that are bound so far.
class Writer {
 public:
  std::string line(const Op& op, const Note& note) {
    const int process = process_of(op), thread = thread_of(op);
    std::string actor = thread ? "@t" + std::to_string(thread) + " " : "";
    if (process) actor = "@p" + std::to_string(process) + " ";
    const std::string comment = note.text.empty() ? "" : "  # " + note.text;
    if (reads(op.code)) return read(op, actor, comment, note.bytes);
    if (op.code == Code::kClose) return close(op, actor);
    const NameKind makes = shape(op.code).makes;
    // A call without an out-parameter binds nothing, as a failed call does.
    const bool named = makes != NameKind::kNone && !(op.faults & kNullOut);
    std::string out = actor;
    if (named) out += WrittenNames::name(makes, op.name) + " = ";
    out += call(op) + comment + "\n";
    if (named) names_.bound[static_cast<std::size_t>(makes)][op.name] = true;
    if (named && makes == NameKind::kDescriptor) given_[op.name] = false;
    // The driver may own the descriptor now, so the program does not close it any more.
    if (op.code == Code::kExtImport) given_[op.ref] = true;
    return out;
  }

 private:
  // The positional arguments, then those with keys, then the out-parameters that are NULL.
  std::string call(const Op& op) const {
    const Description& description = describe(op);
    const FunctionSignature& signature = *find_function(description.function);
    std::string plain, keyed, nulls;
    const auto add = [](std::string& list, const std::string& key, const std::string& text) {
      list += ", " + (key.empty() ? text : key + "=" + text);
    };
    for (std::size_t i = 0; i < description.parts.size(); ++i) {
      const Part& part = description.parts[i];
      const Parameter& parameter = signature.parameters[i];
      const std::string text = part.text(op, names_);
      if (text.empty() || (parameter.optional && text == "0" && !part.stated)) continue;
      if (parameter.output) {
        add(nulls, part.parameter, text);
      } else if (parameter.optional) {
        add(keyed, part.parameter, text);
      } else {
        // Properties are written by their own keys.
        const bool none = parameter.kind == ParameterKind::kInProp && op.faults & kNullIn;
        add(plain, none ? part.parameter : "", text);
      }
    }
    const std::string arguments = plain + keyed + nulls;
    return std::string(description.function) + "(" +
           (arguments.empty() ? "" : arguments.substr(2)) + ")";
  }

  // Writes a read: the buffer, the call, and the bytes if they are known.
  std::string read(const Op& op, const std::string& actor, const std::string& comment,
                   const std::string& bytes) {
    const std::string buffer = "b" + std::to_string(++names_.buffers);
    const std::string size = std::to_string(op.size);
    // An empty buffer would be no buffer.
    std::string out = actor + buffer + " = host(" + (op.size ? size : "1") + ", fill=0xcd)\n";
    out += actor + call(op) + comment + "\n";
    if (op.size && !bytes.empty()) {
      out += actor + "bytes(" + buffer + ", " + size + ")  # CUDA_SUCCESS =" + bytes + "\n";
    }
    return out;
  }

  std::string close(const Op& op, const std::string& actor) {
    bool& bound = names_.bound[static_cast<std::size_t>(NameKind::kDescriptor)][op.ref];
    if (!bound || given_[op.ref]) return {};  // no descriptor to close
    const std::string out = actor + call(op) + "\n";
    bound = false;
    return out;
  }

  WrittenNames names_;
  bool given_[256] = {};  ///< descriptors that were offered as external memory
};

}  // namespace

std::string to_text(const Ops& ops, std::span<const Note> notes) {
  std::string lines = "\n";
  Writer writer;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    lines += writer.line(ops[i], i < notes.size() ? notes[i] : Note{});
  }
  static_assert(kProcesses == 2);
  const bool second = lines.find("\n@p1 ") != std::string::npos;
  return "cuvmm-program 1\ninit()" + std::string(second ? "\n@p1 init()" : "") + lines;
}

}  // namespace cuvmm::fuzz
