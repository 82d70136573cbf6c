// SPDX-License-Identifier: Apache-2.0
// Functions of the driver that nobody here knows: which of them are about memory, by their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::shim {

/// Whether a function deals with memory, judged by the words of its name: "cuMemOfTomorrow",
/// "cuGraphAddExternalSemaphoresWaitNode" and "cuStreamWriteValue32_v2" do, "cuLaunchKernel" and
/// "cuFuncSetSharedMemConfig" do not. Meant for names that api/entry_points.def does not have.
bool concerns_memory(std::string_view name);

/// Why calls of a function that the driver handed out for this name are not checked, for the
/// report; nothing where none would be missed. `query` is a name that cuGetProcAddress was asked
/// for, and that we do not intercept.
std::optional<std::string> unchecked_query(std::string_view query);
/// The same of an exported symbol that has no wrapper: it also names the older ABIs of what we
/// intercept.
std::optional<std::string> unchecked_symbol(std::string_view symbol);

}  // namespace cuvmm::shim
