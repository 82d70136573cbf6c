// SPDX-License-Identifier: Apache-2.0
// cuvmm(1), in roff.
#include <fmt/core.h>

#include "tools/shell/option_table.h"

namespace cuvmm::tools {

namespace {

// Escapes the characters that have a meaning in roff.
std::string roff_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";  // a hyphen that can be copied
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string roff_bold(const std::string& text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string roff_slanted(const std::string& text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string roff_item(const std::string& head, const std::string& help) {
  return ".TP\n" + head + "\n" + roff_text(help) + "\n";
}

std::string roff_option(const OptionEntry& entry) {
  std::string head;
  for (const std::string& name : entry.names) head += (head.empty() ? "" : ", ") + roff_bold(name);
  if (entry.glued) {
    head += "[=" + roff_slanted(entry.value) + "]";
  } else if (!entry.value.empty()) {
    head += (head.empty() ? "" : " ") + roff_slanted(entry.value);
  }
  return roff_item(head, entry.help);
}

// Text whose lines roff must not fill, such as examples.
std::string roff_lines(const std::string& text) {
  return text.empty()
             ? ""
             : ".PP\n.nf\n" + roff_text(text) + (text.back() == '\n' ? "" : "\n") + ".fi\n";
}

}  // namespace

std::string man_page(const std::vector<CommandEntry>& table, const std::string& version) {
  const CommandEntry& top = table.front();
  std::string page = fmt::format(
      ".\\\" Made by `cuvmm shell-page man` from what --help shows.\n"
      ".TH CUVMM 1 \"\" \"cuvmm {}\" \"User Commands\"\n"
      ".SH NAME\ncuvmm \\- find misuse of the CUDA driver's memory APIs, without a GPU where there "
      "is none\n"
      ".SH SYNOPSIS\n",
      version);
  for (const CommandEntry& command : table) {
    page += command.usage.empty() ? "" : roff_bold(command.usage) + "\n.br\n";
  }
  page += ".SH DESCRIPTION\n" + roff_text(top.summary) + "\n";
  for (const OptionEntry& entry : top.options) page += roff_option(entry);
  page += roff_lines(top.footer) + ".SH COMMANDS\n";
  for (const CommandEntry& command : table) {
    if (command.name.empty()) continue;
    page += ".SS " +
            roff_text(command.parent + (command.parent.empty() ? "" : " ") + command.name) + "\n" +
            roff_text(command.summary) + ".\n.PP\n" + roff_bold(command.usage) + "\n";
    for (const OptionEntry& entry : command.arguments) page += roff_option(entry);
    for (const OptionEntry& entry : command.options) page += roff_option(entry);
    page += roff_lines(command.footer);
  }
  page +=
      ".SH SEE ALSO\n"
      "The documents in share/doc/cuvmm explain findings, options, exit codes and the environment: "
      "index.md lists them.\n";
  return page;
}

}  // namespace cuvmm::tools
