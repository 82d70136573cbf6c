// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/cluster.h"

namespace cuvmm::kernels {

void Cluster::arrive(unsigned threads) {
  arrived_ += threads;
  open_if_complete();
}

void Cluster::threads_ended(unsigned threads, unsigned arrived) {
  live_ -= threads;
  arrived_ -= arrived;
  open_if_complete();
}

void Cluster::open_if_complete() {
  if (arrived_ == 0 || arrived_ < live_) return;
  arrived_ = 0;
  ++phase_;
  for (ClusterBlock* each : blocks_) each->release(kBarrier);
}

}  // namespace cuvmm::kernels
