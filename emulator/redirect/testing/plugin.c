// SPDX-License-Identifier: Apache-2.0
// The calls as a library's, which a program links or loads later.
#include "calls.h"

// NOLINTNEXTLINE(misc-use-internal-linkage): the program calls it
__attribute__((visibility("default"))) int plugin_calls(void) { return make_calls(); }
