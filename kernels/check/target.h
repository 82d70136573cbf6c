// SPDX-License-Identifier: Apache-2.0
// The architectures that PTX can be for, and the instructions that some of them lack.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::kernels {

struct Target {
  unsigned architecture = 0;  ///< 90 for sm_90a; 0: no target
  char suffix = '\0';         ///< 'a': this architecture alone; 'f': its family
  unsigned version = 0;       ///< of PTX, the first that has the target: 803 for 8.3
};

/// The target of this name.
Target target_named(std::string_view name);

/// Whether a GPU of this architecture runs code for the target. A GPU runs code for older ones.
bool runs_on(const Target& target, unsigned architecture);

/// Whether the target has the instruction, which is named without its modifiers. True for
/// instructions that are not known.
bool has_instruction(const Target& target, std::string_view base);

/// "8.3" for 803.
std::string version_text(unsigned version);

}  // namespace cuvmm::kernels
