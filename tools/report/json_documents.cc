// SPDX-License-Identifier: Apache-2.0
#include "tools/report/json_documents.h"

#include <vector>

namespace cuvmm::tools {

namespace {

constexpr std::string_view kStart = "{\"schema\":";

class Scanner {
 public:
  Scanner(std::string_view text, bool resume, const JsonLimits& limits)
      : text_(text), resume_(resume), limits_(limits) {}

  JsonDocuments run() {
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (resume_ && c == '{' && inside() && text_.substr(at_).starts_with(kStart)) abandon();
      if (in_string_) {
        take_in_string(c);
      } else if (inside()) {
        take(c);
      } else if (c == '{') {
        start();
      } else if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
        result_.torn = true;
      }
    }
    if (inside()) result_.torn = true;
    return result_;
  }

 private:
  struct Level {
    char close;
    std::size_t members;
  };

  bool inside() const { return !levels_.empty(); }

  void start() {
    begin_ = at_;
    values_ = 0;
    too_deep_ = 0;
    excess_.clear();
    levels_.push_back({'}', 1});
  }

  // Gives up the document that was begun, because it is incomplete.
  void abandon() {
    levels_.clear();
    in_string_ = escaped_ = false;
    result_.torn = true;
  }

  void take_in_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
  }

  void take(char c) {
    switch (c) {
      case '"':
        in_string_ = true;
        break;
      case '{':
      case '[':
        open(c == '{' ? '}' : ']');
        break;
      case '}':
      case ']':
        close(c);
        break;
      case ',':
        count_value();
        if (too_deep_ == 0 && levels_.back().close == '}' &&
            ++levels_.back().members > limits_.members && excess_.empty()) {
          excess_ = "an object has more than " + std::to_string(limits_.members) + " members";
        }
        break;
      default:
        break;
    }
  }

  void count_value() {
    if (++values_ > limits_.values && excess_.empty()) {
      excess_ = "it holds more than " + std::to_string(limits_.values) + " values";
    }
  }

  void open(char close) {
    count_value();
    if (too_deep_ > 0 || levels_.size() == limits_.depth) {
      ++too_deep_;
      if (excess_.empty()) excess_ = "it is nested deeper than " + std::to_string(limits_.depth);
    } else {
      levels_.push_back({close, 1});
    }
  }

  void close(char c) {
    if (too_deep_ > 0) {
      --too_deep_;
      return;
    }
    if (levels_.back().close != c) return abandon();
    levels_.pop_back();
    if (inside()) return;
    result_.last = text_.substr(begin_, at_ + 1 - begin_);
    result_.values = values_ + 1;
    result_.excess = excess_;
  }

  std::string_view text_;
  bool resume_;
  JsonLimits limits_;
  std::size_t at_ = 0, begin_ = 0;
  std::vector<Level> levels_;  // empty between documents
  std::size_t too_deep_ = 0;   // number of levels beyond the limit; levels_ has no entries for them
  std::size_t values_ = 0;
  bool in_string_ = false, escaped_ = false;
  std::string excess_;
  JsonDocuments result_;
};

}  // namespace

JsonDocuments find_json_documents(std::string_view text, bool resume, const JsonLimits& limits) {
  return Scanner(text, resume, limits).run();
}

}  // namespace cuvmm::tools
