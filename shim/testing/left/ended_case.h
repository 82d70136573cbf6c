// SPDX-License-Identifier: Apache-2.0
// The cases of the program `ended`, by file.
#pragma once

#include <cuda.h>

#include <span>
#include <string_view>

struct EndedCase {
  std::string_view name;
  CUresult (*call)();
};

/// The object that the case names lives, because the test wants a call without a mistake.
extern bool g_alive;

std::span<const EndedCase> graph_cases();
std::span<const EndedCase> semaphore_cases();
