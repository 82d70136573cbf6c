// SPDX-License-Identifier: Apache-2.0
// Leaks on request, while the program goes on.
#pragma once

namespace cuvmm::shim {

/// From here on this signal asks for them: they are told after the next call about memory, as a
/// handler must not do it itself. Left alone where the program has a handler of its own.
void tell_leaks_at(int signal) noexcept;

}  // namespace cuvmm::shim

/// Says on stderr what the program has given up and still pins. How many findings these are; -1
/// where that cannot be told. For programs: find it by dlsym, or by ctypes.CDLL(None).cuvmmLeaks.
extern "C" __attribute__((visibility("default"))) int cuvmmLeaks();
