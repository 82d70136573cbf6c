// SPDX-License-Identifier: Apache-2.0
#include "kernels/watch/order.h"

#include <algorithm>

#include "kernels/run/mask.h"

namespace cuvmm::kernels {

BlockOrder::BlockOrder(Moments& moments, unsigned threads)
    : moments_(moments),
      count_((threads + kLanes - 1) / kLanes),
      warps_(std::size_t{count_} * count_),
      lanes_(count_) {}

void BlockOrder::meet(unsigned warp, Mask lanes) {
  const std::uint32_t now = moments_.next();
  Lanes& saw = lanes_[warp];
  if (lanes == kAll) return saw.fill(now);
  std::array<std::uint32_t, kLanes> seen{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!is_set(lanes, lane)) continue;
    for (unsigned other = 0; other < kLanes; ++other)
      seen[other] = std::max(seen[other], lane_saw(warp, lane, other));
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!is_set(lanes, lane)) continue;
    for (unsigned other = 0; other < kLanes; ++other)
      lane_saw(warp, lane, other) = is_set(lanes, other) ? now : seen[other];
  }
}

void BlockOrder::open(unsigned barrier, bool all) {
  const std::uint32_t there = arrived_[barrier];
  arrived_[barrier] = 0;
  if (all) return order_all();
  const std::uint32_t now = moments_.next();
  std::array<std::uint32_t, kLanes> seen{};
  for (unsigned warp = 0; warp < count_; ++warp) {
    if (!is_set(there, warp)) continue;
    for (unsigned other = 0; other < count_; ++other)
      seen[other] = std::max(seen[other], warp_saw(warp, other));
  }
  for (unsigned warp = 0; warp < count_; ++warp) {
    if (!is_set(there, warp)) continue;
    for (unsigned other = 0; other < count_; ++other)
      warp_saw(warp, other) = is_set(there, other) ? now : seen[other];
    lanes_[warp].fill(now);
  }
}

bool BlockOrder::ordered(std::uint32_t moment, unsigned first, unsigned second) const {
  if (first == second || moment < all_ || moments_.before_all(moment)) return true;
  const unsigned from = first / kLanes, to = second / kLanes;
  if (from != to) return moment < warps_[to * count_ + from];
  return moment < lanes_[to][second % kLanes * kLanes + first % kLanes];
}

}  // namespace cuvmm::kernels
