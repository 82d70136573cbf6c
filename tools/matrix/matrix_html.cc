// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tools/matrix/matrix.h"
#include "tools/matrix/matrix_page.h"
#include "tools/rules/rule_facts.h"

namespace cuvmm::tools {

namespace {

using SortedJson = nlohmann::json;  // members by name

SortedJson cell_json(const MatrixCell& cell) {
  SortedJson answers = SortedJson::array();
  for (const MatrixCell::Answer& answer : cell.answers)
    answers.push_back({{"text", answer.text}, {"cases", answer.cases}});
  return {{"status", name(cell.status)}, {"answers", answers}, {"reason", cell.reason}};
}

// Inside a <script> element only `<` could end or change it; JSON may write it by its number.
std::string embed(const SortedJson& json) {
  // Names come from files: what is no UTF-8 becomes U+FFFD instead of an error.
  const std::string plain = json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  std::string text;
  for (char c : plain) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string matrix_html(const Matrix& matrix, const std::string& note) {
  SortedJson columns = SortedJson::array();
  for (const MatrixColumn& column : matrix.columns)
    columns.push_back({{"title", column.title}, {"detail", column.detail}});
  SortedJson rows = SortedJson::array();
  for (Rule rule : matrix.rules) {
    const RuleInfo& it = info(rule);
    SortedJson cells = SortedJson::array();
    for (const MatrixColumn& column : matrix.columns)
      cells.push_back(cell_json(cell_of(column, rule)));
    rows.push_back({{"id", it.id},
                    {"area", area_of(rule)},
                    {"kind", name(it.kind)},
                    {"requirement", it.requirement},
                    {"source", it.source},
                    {"documented", documented_answer(rule)},
                    {"cells", cells}});
  }
  const std::string data = embed({{"columns", columns}, {"rows", rows}, {"note", note}});
  std::string page = kMatrixPage;
  const std::string mark = "@DATA@";
  return page.replace(page.find(mark), mark.size(), data);
}

}  // namespace cuvmm::tools
