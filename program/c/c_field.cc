// SPDX-License-Identifier: Apache-2.0
#include "program/c/c_field.h"

#include <map>
#include <vector>

#include "api/record_fields.h"

namespace cuvmm::program {

namespace {

using Fields = std::vector<CField>;

template <class Record>
void add_fields(Record record, Fields& fields) {
  visit_record(record, [&]<class T>(const RecordField& field, T&) {
    CField one{field.key, field.path, "", std::is_same_v<T, CUmemLocation>, field.words};
    if (std::is_pointer_v<T>) one.cast = "(void*)(uintptr_t)";
    if (std::is_same_v<T, int>) one.cast = "(int)";  // a descriptor may be -1
    fields.push_back(std::move(one));
  });
}

std::map<std::string, Fields, std::less<>> make_table() {
  std::map<std::string, Fields, std::less<>> table;
#define CUVMM_FIELDS_OF(Type) add_fields(Type{}, table[#Type]);
  CUVMM_RECORD_TYPES(CUVMM_FIELDS_OF)
#undef CUVMM_FIELDS_OF
  CUarrayMapInfo tail{};  // shows the other member of the structure's union
  tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  add_fields(tail, table["CUarrayMapInfo"]);
  return table;
}

}  // namespace

const CField* c_field(std::string_view structure, std::string_view key) {
  static const auto table = make_table();
  const auto fields = table.find(structure);
  if (fields == table.end()) return nullptr;
  for (const CField& field : fields->second) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

}  // namespace cuvmm::program
