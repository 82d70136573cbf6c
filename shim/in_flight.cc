#include "shim/in_flight.h"

namespace cuvmm::shim {

namespace {
thread_local InFlight* t_in_flight = nullptr;
}

InFlight*& in_flight() noexcept { return t_in_flight; }

}  // namespace cuvmm::shim
