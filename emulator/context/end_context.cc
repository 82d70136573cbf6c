// SPDX-License-Identifier: Apache-2.0
#include "emulator/context/end_context.h"

namespace cuvmm::emulator {

void end_context(Emulator& e, Context& context) {
  e.queues.settle(e, context);
  e.queues.restore(context);  // a primary context may be revived
  context.alive = false;
  e.arrays.end_those_of(context);
  e.free_plain_of(context);  // VMM memory belongs to no context, so it stays
  if (Captures::any()) e.captures.end_those_of(context);
  e.streams.end_those_of(context);
  e.modules.end_those_of(context);
}

}  // namespace cuvmm::emulator
