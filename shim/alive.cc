#include "shim/alive.h"

#include "shim/arguments.h"
#include "shim/symbolizer.h"
#include "shim/text_report.h"

namespace cuvmm::shim {

namespace {
// What check_exit reports: references, and nothing mapped, be it to addresses or to arrays.
bool leaked(const Model& model, const Allocation& allocation) {
  return allocation.references != 0 && allocation.mappings == 0 &&
         !model.tiles().shows(allocation.handle);
}
}  // namespace

Alive count_alive(const Model& model) {
  Alive alive;
  for (const auto& [handle, allocation] : model.allocations()) {
    if (leaked(model, allocation)) continue;
    ++alive.allocations;
    alive.bytes += allocation.size;
    alive.objects.push_back(
        {ObjectRef::Kind::kAllocation, handle, allocation.size, allocation.made, {}});
  }
  for (const auto& [base, reservation] : model.reservations()) {
    ++alive.reservations;
    alive.objects.push_back(
        {ObjectRef::Kind::kReservation, base, reservation.size, reservation.made, {}});
  }
  return alive;
}

std::string alive_text(const Alive& alive) {
  std::string text;
  for (const ObjectRef& object : alive.objects) {
    text += std::string("cuvmm: alive: ") + name(object.kind) + " " + hex_text(object.value);
    if (object.size != 0) text += " (" + size_text(object.size) + ")";
    text += ", made by call " + std::to_string(object.made.call) + "\n";
    text += stack_text(symbolize(object.made.stack), "      ");
  }
  return text;
}

}  // namespace cuvmm::shim
