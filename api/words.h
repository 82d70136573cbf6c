// SPDX-License-Identifier: Apache-2.0
// The words by which the program text names numbers: enumerators, bits, attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/parameter_kind.h"

namespace cuvmm {

/// Bytes of a legacy IPC handle, of a fabric handle and of a pool pointer's export data.
inline constexpr std::size_t kBlobBytes = 64;

/// One word of a vocabulary: `posix_fd` is 1, in C CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
struct Word {
  std::string_view word;
  std::uint64_t value;
  std::string_view c_name;
};

/// The vocabularies. `|` may join words for bits; words of other vocabularies stand alone.
std::span<const Word> handle_type_words();
std::span<const Word> allocation_type_words();
std::span<const Word> location_type_words();  ///< without locality domains: `domain(0, 1)`
std::span<const Word> access_words();         ///< none, r, rw
std::span<const Word> usage_words();
std::span<const Word> range_type_words();
std::span<const Word> memory_type_words();
std::span<const Word> device_attribute_words();
std::span<const Word> pool_attribute_words();
std::span<const Word> external_memory_type_words();
std::span<const Word> external_semaphore_type_words();
std::span<const Word> endpoint_type_words();
std::span<const Word> endpoint_handle_type_words();
std::span<const Word> endpoint_flag_words();
std::span<const Word> fabric_operand_words();

/// The vocabulary that belongs to a kind of parameter; empty for most.
std::span<const Word> words_of(ParameterKind kind);

std::optional<std::uint64_t> find_word(std::span<const Word> words, std::string_view word);
/// The word for a value; "" if no word has it.
std::string_view find_value(std::span<const Word> words, std::uint64_t value);
/// A bit set as `posix_fd|fabric|0x10`; for 0 the vocabulary's word, or "0".
std::string bits_text(std::span<const Word> words, std::uint64_t value);
/// The word for a value, or the number.
std::string word_text(std::span<const Word> words, std::uint64_t value);

/// 2M, 4096 as 4K, 0x600000000000: the shortest form that reads well; parses to the same value.
std::string number_text(std::uint64_t value);

/// "0x7f0000200000".
[[gnu::cold]] std::string hex_text(std::uint64_t value);
/// "4 MiB", "2 MiB + 4 KiB", "17 B": a size in bytes as people say it. A number that is no size
/// reads "0xffffffffffffffff (-1)".
[[gnu::cold]] std::string size_text(std::uint64_t bytes);
/// "139.8 GiB", "24 MiB": with one decimal, for texts that need no exact number.
[[gnu::cold]] std::string rough_size_text(std::uint64_t bytes);
/// "1 call", "2 calls".
[[gnu::cold]] std::string count_text(std::uint64_t count, std::string_view noun);

}  // namespace cuvmm
