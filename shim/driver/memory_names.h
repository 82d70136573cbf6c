// SPDX-License-Identifier: Apache-2.0
// Functions of the driver that cuvmm does not know: which of them are about memory, by their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::shim {

/// Whether a function deals with memory, judged by the words of its name: "cuMemOfTomorrow",
/// "cuGraphAddExternalSemaphoresWaitNode" and "cuStreamWriteValue32_v2" do, "cuLaunchKernel" and
/// "cuFuncSetSharedMemConfig" do not. Meant for names that api/entry_points.def does not have.
bool concerns_memory(std::string_view name);

/// The reason for the report why cuvmm does not check calls of a function that the driver returned
/// for this name; nullopt if the function is not about memory. `query` is a name that the program
/// passed to cuGetProcAddress, and that cuvmm does not intercept.
std::optional<std::string> unchecked_query(std::string_view query);
/// Whether a call of the function matters to memory, and changes something: a run that made such a
/// call without a check proves less than it seems to. Names of questions (Get, Can) change nothing.
bool changes_memory(std::string_view name);
/// unchecked_query() for an exported symbol without a wrapper: it also names the older ABIs of
/// intercepted functions.
std::optional<std::string> unchecked_symbol(std::string_view symbol);

}  // namespace cuvmm::shim
