// SPDX-License-Identifier: Apache-2.0
// Attributes of pools, trimming, and access.
#include "api/newer/pools.h"
#include "rulebook/pool/check_pool.h"

namespace cuvmm {
using namespace detail;

namespace {

// Checks the pool, which must not be an imported one. The documentation does not say so: the
// violation is certain of drivers that are known to demand it, and else the cause of a refusal.
void check_own(Collector& out, const Model& model, CUmemoryPool handle, const PoolRules& rules,
               Rule imported, const Facts& facts) {
  const Pool* pool = check_pool(out, model, handle, rules, facts);
  if (!pool || !pool->imported) return;
  out.add(imported, "the pool was imported", model.platform().complete)
      .objects.push_back(ref(*pool));
}

struct AttributeRules {
  Rule known, value, aligned;
};

// Checks the attribute, and the pointer to its value.
template <class CallStruct>
void check_attribute(Collector& out, const Model& model, const CallStruct& call,
                     const AttributeRules& rules) {
  const int attribute = static_cast<int>(call.attr);
  const int driver = model.platform().driver_version;
  const int since = attribute == kPoolAttributeDomain           ? 13040
                    : attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH ? 13020
                                                                : 11020;
  const std::size_t bytes = pool_attribute_bytes(call.attr);
  if (bytes == 0) {
    // A newer driver may know more attributes.
    out.add(rules.known, "attr is " + std::to_string(attribute),
            attribute <= 0 || model.platform().complete);
  } else if (driver != 0 && driver < since) {
    out.add(rules.known, "attr is " + word_text(pool_attribute_words(), call.attr) + " (" +
                             std::to_string(attribute) + "), and the driver is of CUDA " +
                             std::to_string(driver / 1000) + "." +
                             std::to_string(driver % 1000 / 10));
  }
  if (!call.value) {
    out.add(rules.value, "value is NULL");
  } else if (bytes != 0 && reinterpret_cast<std::uintptr_t>(call.value) % bytes != 0) {
    out.add(rules.aligned, "value is " + hex_text(reinterpret_cast<std::uintptr_t>(call.value)) +
                               ", and the attribute is of " + std::to_string(bytes) + " bytes");
  }
}

bool is_high_mark(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
         attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

}  // namespace

Violations check(const Model& model, const calls::MemPoolGetAttribute& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_own(out, model, call.pool, {Rule::kPoolGetPoolValid, Rule::kPoolGetPoolAlive},
            Rule::kPoolGetImported, facts);
  check_attribute(out, model, call,
                  {Rule::kPoolGetAttribute, Rule::kPoolGetValue, Rule::kPoolGetAligned});
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolSetAttribute& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_own(out, model, call.pool, {Rule::kPoolPutPoolValid, Rule::kPoolPutPoolAlive},
            Rule::kPoolPutImported, facts);
  check_attribute(out, model, call,
                  {Rule::kPoolPutAttribute, Rule::kPoolPutValue, Rule::kPoolPutAligned});
  const bool settable = call.attr <= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD || is_high_mark(call.attr);
  if (!settable && pool_attribute_bytes(call.attr) != 0) {
    out.add(Rule::kPoolPutWritable,
            "attr is " + word_text(pool_attribute_words(), call.attr) + ", which can only be read");
  }
  if (is_high_mark(call.attr) && call.value) {
    cuuint64_t value = 0;
    std::memcpy(&value, call.value, sizeof value);
    if (value != 0) {
      out.add(Rule::kPoolPutHigh, "the value of " + word_text(pool_attribute_words(), call.attr) +
                                      " is " + std::to_string(value) + ", not 0");
    }
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolTrimTo& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_own(out, model, call.pool, {Rule::kPoolTrimPoolValid, Rule::kPoolTrimPoolAlive},
            Rule::kPoolTrimImported, facts);
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolGetAccess& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.flags) out.add(Rule::kPoolSeenOut, "flags is NULL");
  check_pool(out, model, call.memPool, {Rule::kPoolSeenPoolValid, Rule::kPoolSeenPoolAlive}, facts);
  if (!call.location) {
    out.add(Rule::kPoolSeenLocation, "location is NULL");
    return out.take();
  }
  const CUmemLocation& place = *call.location;
  if (is_device(place) && (!is_domain(place) || has_domains(model.platform()))) {
    if (!may_exist(model, device_of(place))) {
      out.add(Rule::kPoolSeenLocationDevice, location(place) + " does not exist");
    }
  } else if (!is_host(place)) {
    out.add(Rule::kPoolSeenLocationType, "location is " + location(place));
  }
  return out.take();
}

}  // namespace cuvmm
