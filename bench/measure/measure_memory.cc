// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "bench/measure/measure.h"

namespace cuvmm::bench {

namespace {
// Resident memory of this process in bytes; 0 if the kernel does not tell.
double resident() {
  long total = 0;
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}
}  // namespace

void measure_memory(const Variant& variant, std::size_t live, Results& results) {
  if (live == 0) return;
  { const LiveMappings warm(variant.driver, 1); }
  const double before = resident();
  const LiveMappings mappings(variant.driver, live);
  results.add({"memory/live:" + std::to_string(live) + "/" + variant.name, "B",
               (resident() - before) / static_cast<double>(live), 0, 1});
}

}  // namespace cuvmm::bench
