// SPDX-License-Identifier: Apache-2.0
// The results as JSON in the layout of Google Benchmark, so that its tools can read them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace cuvmm::bench {

/// One number per name: "what/where/variant", e.g. "call/cuMemMap/live:1000/shim".
struct Result {
  std::string name;
  std::string unit;  ///< "ns", "us", "calls/s", "B"
  double median = 0;
  double p99 = 0;  ///< 0: not a distribution
  std::uint64_t samples = 0;
};

class Results {
 public:
  void context(std::string key, std::string value) {
    context_.emplace_back(std::move(key), std::move(value));
  }
  void add(Result result) {
    std::fprintf(stderr, "%-58s %12.1f %-8s p99 %12.1f  (%llu)\n", result.name.c_str(),
                 result.median, result.unit.c_str(), result.p99,
                 static_cast<unsigned long long>(result.samples));
    results_.push_back(std::move(result));
  }
  bool write(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::string>> context_;
  std::vector<Result> results_;
};

}  // namespace cuvmm::bench
