// SPDX-License-Identifier: Apache-2.0
// Runs the shim between a program and a driver. The reference judges that no finding is false or
// missing, and no answer changes.
#pragma once

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// Runs the program without the shim, then through a new shim session; disagrees where either run
/// differs from the reference, or from the other run. Then runs the program once more for each of
/// its driver calls: the driver refuses that call with OUT_OF_MEMORY, and everything after it must
/// be as if the call had not been made.
Result run_stacked(Differential& machine, const Ops& ops);

/// The runs that a search makes of a program, beside the run under the shim. A search has no time
/// for all runs of run_stacked(), so the program's own bytes choose them: the same program always
/// has the same runs.
struct Share {
  bool bare = false;  ///< a run without the shim, whose answers are compared: every fourth program
  unsigned failing = 0;  ///< the driver call that fails, 0 for none: every fourth program, which
                         ///< then has no run without a failure
};
Share share_of(const Ops& ops);
/// Makes the runs of share_of(). The reference judges every answer under the shim, too; so the bare
/// run adds only those values that the reference does not predict.
Result run_share(Differential& machine, const Ops& ops);

}  // namespace cuvmm::fuzz
