// SPDX-License-Identifier: Apache-2.0
// Prints the objects of processes, one line for each process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "recorder/holdings/reader.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

struct TopRow {
  int pid = 0;
  std::string program;
  holdings::Sums sums{};
  std::int64_t growth = 0;  ///< change of the physical bytes since the mark
};

/// Physical bytes that a process holds, made by it or by others.
std::uint64_t physical(const holdings::Sums& sums);

/// The bytes that each process held at the mark, by pid. The growth of a process that started later
/// counts from 0.
using Marks = std::map<int, std::uint64_t>;
Marks mark_now(const std::vector<holdings::View>& views);

/// The rows, the largest first.
std::vector<TopRow> top_rows(const std::vector<holdings::View>& views, const Marks& marks);

/// A table of at most 80 columns and `lines` rows, and a line with the sums.
std::string top_text(const std::vector<TopRow>& rows, std::size_t lines);
Json top_json(const std::vector<TopRow>& rows);

/// "20.0G", "512K": at most six characters.
std::string short_size(std::uint64_t bytes);

}  // namespace cuvmm::tools
