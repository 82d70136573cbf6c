// Exports every symbol of api/entry_points.def: one function per entry point, and its other names
// as aliases (per-thread default streams make no difference where all work completes at once).
#include "api/for_each.h"
#include "emulator/base.h"
#include "emulator/batch_copy.h"
#include "emulator/transfer_entry.h"

namespace cuvmm::emulator {

namespace {

template <class CallStruct>
CUresult run(const CallStruct& call) noexcept {
  if constexpr (!CallStruct::kIntercepted) {
    return run_base(call);
  } else if constexpr (requires(Emulator & e, Facts f, Retired r) { perform(e, call, f, r); }) {
    return run_entry(call);
#if CUDA_VERSION >= 13000
  } else if constexpr (std::is_same_v<CallStruct, calls::MemcpyBatchAsync>) {
    return run_batch(call);
#endif
  } else {
    return locked([&](Emulator& e) { return run_transfer(e, call); });
  }
}

}  // namespace

#define CUVMM_PARAMETER(kind, type, name) , type name
#define CUVMM_ARGUMENT(kind, type, name) call.name = name;
#define CUVMM_AFTER_FIRST_(first, ...) __VA_ARGS__
#define CUVMM_AFTER_FIRST(...) CUVMM_AFTER_FIRST_(__VA_ARGS__)
#define CUVMM_PARAMETERS(...) CUVMM_AFTER_FIRST(void CUVMM_FOR_EACH(CUVMM_PARAMETER, __VA_ARGS__))

#define CUVMM_ENTRY(Name, area, ...)                                      \
  extern "C" CUresult cuvmm_entry_##Name(CUVMM_PARAMETERS(__VA_ARGS__)) { \
    calls::Name call{};                                                   \
    CUVMM_FOR_EACH(CUVMM_ARGUMENT, __VA_ARGS__)                           \
    return run(call);                                                     \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"

// An alias for each symbol, but for those whose ABI is not the entry point's (`Other`): stubs.
#define CUVMM_ALIAS(Name, text, exported)                        \
  extern "C" decltype(cuvmm_entry_##Name) exported __asm__(text) \
      __attribute__((visibility("default"), alias("cuvmm_entry_" #Name)));
#define CUVMM_NO_ALIAS(...)
#define CUVMM_SECOND(first, second, ...) second
#define CUVMM_CHOOSE(...) CUVMM_SECOND(__VA_ARGS__, CUVMM_ALIAS, )
#define CUVMM_IS_Other ~, CUVMM_NO_ALIAS
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  CUVMM_CHOOSE(CUVMM_IS_##Name)(Name, #symbol, exported_##symbol)
#include "api/entry_points.def"

}  // namespace cuvmm::emulator
