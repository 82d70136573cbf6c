// SPDX-License-Identifier: Apache-2.0
/* Fat binaries as nvcc writes them, made by hand: for tests on machines without nvcc. */
#pragma once

#include <stdint.h>
#include <string.h>

enum code_kind { kPtx = 1, kMachineCode = 2 };
enum { kFatBytes = 8192 };

struct fat_binary {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t size; /* of the used part of `entries` */
  unsigned char entries[kFatBytes];
};

/* The object that a program registers. */
struct fat_wrapper {
  uint32_t magic, version;
  const struct fat_binary* binary;
  void* unused;
};

struct fat_entry {
  uint16_t kind, unused;
  uint32_t header_bytes;
  uint64_t size;
  uint32_t packed, options;
  uint16_t minor, major;
  uint32_t gpu; /* ten times the major compute capability plus the minor one */
  uint64_t rest[4];
};

/* Adds code for a GPU, not compressed. */
static inline void add_code(struct fat_binary* binary, enum code_kind kind, int gpu,
                            const char* text) {
  const uint64_t bytes = (strlen(text) + 8) / 8 * 8; /* a text ends with a zero */
  struct fat_entry entry;
  memset(&entry, 0, sizeof entry);
  binary->magic = 0xba55ed50;
  binary->version = 1;
  binary->header_bytes = 16;
  entry.kind = (uint16_t)kind;
  entry.header_bytes = sizeof entry;
  entry.size = bytes;
  entry.gpu = (uint32_t)gpu;
  memcpy(binary->entries + binary->size, &entry, sizeof entry);
  memcpy(binary->entries + binary->size + sizeof entry, text, strlen(text) + 1);
  binary->size += sizeof entry + bytes;
}

static inline void wrap(struct fat_wrapper* wrapper, const struct fat_binary* binary) {
  wrapper->magic = 0x466243b1;
  wrapper->version = 1;
  wrapper->binary = binary;
}
