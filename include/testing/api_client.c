/* SPDX-License-Identifier: Apache-2.0 */
/* Uses every function of cuvmm.h, with the shim or without it (argument "none"); api_test.py runs
   it. Compiled as C89 and, by api_client_cxx.cc, as C++. */
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuvmm/cuvmm.h"

#define BYTES ((size_t)2 << 20)
#define UNMAPPED "cuMemUnmap-mapped"
#define RELEASED "cuMemCreate-released"

static void want(int good, const char* what, int line) {
  if (good) return;
  fprintf(stderr, "line %d: expected %s\n", line, what);
  exit(1);
}
#define WANT(condition) want((condition) ? 1 : 0, #condition, __LINE__)

static CUdeviceptr reserve(void) {
  CUdeviceptr base = 0;
  WANT(cuMemAddressReserve(&base, BYTES, 0, 0, 0) == CUDA_SUCCESS);
  return base;
}

static CUmemGenericAllocationHandle create(void) {
  CUmemAllocationProp prop;
  CUmemGenericAllocationHandle handle = 0;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  WANT(cuMemCreate(&handle, BYTES, &prop, 0) == CUDA_SUCCESS);
  return handle;
}

/* Causes `times` findings of UNMAPPED, all from one place in the code. */
static void misuse(CUdeviceptr base, int times) {
  int i;
  for (i = 0; i < times; ++i) (void)cuMemUnmap(base, BYTES);
}

static int found(long mark, const char* text) {
  const long length = cuvmm_findings(mark, NULL, 0);
  char* const json = (char*)malloc((size_t)length + 1);
  int there;
  WANT(length >= 2 && json != NULL);
  WANT(cuvmm_findings(mark, json, (size_t)length + 1) == length);
  WANT(strlen(json) == (size_t)length);
  there = strstr(json, text) != NULL;
  free(json);
  return there;
}

static void without_shim(void) {
  char text[8];
  WANT(!cuvmm_active());
  WANT(cuvmm_scope_open("test", 0) == 0 && cuvmm_scope_close(0) == 0);
  WANT(cuvmm_expect("nonsense", 1) == 0 && cuvmm_expect_end(0) == 0);
  WANT(cuvmm_mark() == 0 && cuvmm_count(0, NULL) == 0 && cuvmm_leaks(0, 0) == 0);
  WANT(cuvmm_name_range(text, 1, "x") == 0 && cuvmm_name_handle(1, "x") == 0);
  WANT(cuvmm_fail("nonsense") == 0 && cuvmm_fail_end(0) == 0);
  WANT(cuvmm_fail_report(0, text, sizeof text) == 0 && text[0] == '\0');
  WANT(cuvmm_fork_point(0) == 0 && cuvmm_fork_point(64) == 0);
  WANT(cuvmm_reset() == 0);
  WANT(cuvmm_findings(0, NULL, 0) == 2);
  WANT(cuvmm_findings(0, text, sizeof text) == 2 && strcmp(text, "[]") == 0);
  WANT(cuvmm_findings(0, text, 1) == 2 && text[0] == '\0');
}

static void bad_arguments(void) {
  char text[8];
  WANT(cuvmm_name_range(NULL, 1, "x") == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_name_range(text, 0, "x") == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_name_range(text, (size_t)-1, "x") == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_name_handle(0, "x") == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_scope_open(NULL, 0) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_scope_open("", 0) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_scope_open("test", 64) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_scope_close(-1) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_scope_close(999999) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_expect(NULL, 1) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_expect(UNMAPPED, -1) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_expect("cuMemUnmap-nonsense", 1) == CUVMM_ERROR_RULE);
  WANT(cuvmm_expect_end(999999) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_count(-1, NULL) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_count(999999, NULL) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_count(0, "nonsense") == CUVMM_ERROR_RULE);
  WANT(cuvmm_findings(0, NULL, 5) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_findings(999999, text, sizeof text) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_leaks(0, 64) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_fail("cuMemNonsense") == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_fail_end(999999) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_fail_report(0, NULL, 5) == CUVMM_ERROR_ARGUMENT);
  WANT(cuvmm_fail_report(999999, text, sizeof text) == CUVMM_ERROR_TOKEN);
  WANT(cuvmm_fork_point(64) == CUVMM_ERROR_ARGUMENT);
}

static void failures(void) {
  char text[256];
  CUdeviceptr base = 0;
  const long token = cuvmm_fail("cuMemAddressReserve@2");
  const CUdeviceptr first = reserve();
  WANT(token > 0);
  WANT(cuMemAddressReserve(&base, BYTES, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY && base == 0);
  WANT(cuvmm_fail_report(token, text, sizeof text) > 0);
  WANT(strcmp(text,
              "{\"calls\":2,\"failures\":1,\"failed\":[{\"call\":\"cuMemAddressReserve\","
              "\"number\":2,\"result\":\"CUDA_ERROR_OUT_OF_MEMORY\"}]}") == 0);
  WANT(cuvmm_fail_end(token) == 1 && cuvmm_fail_end(token) == CUVMM_ERROR_TOKEN);
  base = reserve();
  WANT(cuMemAddressFree(base, BYTES) == CUDA_SUCCESS);
  WANT(cuMemAddressFree(first, BYTES) == CUDA_SUCCESS);
}

static void scopes_and_counts(CUdeviceptr base) {
  const long start = cuvmm_mark();
  long outer, inner, later;
  char cut[4];
  misuse(base, 1);
  outer = cuvmm_scope_open("outer", 0);
  misuse(base, 2); /* the same place: a finding of its own, as the scope is another one */
  WANT(outer > 0 && cuvmm_count(start, NULL) == 3 && cuvmm_count(start, UNMAPPED) == 3);
  WANT(cuvmm_name_range((void*)base, BYTES, "key \"cache\"") == 0);
  inner = cuvmm_scope_open("inner", CUVMM_SCOPE_QUIET);
  misuse(base, 1);
  WANT(cuvmm_scope_close(inner) == 0 && cuvmm_scope_close(inner) == CUVMM_ERROR_TOKEN);
  WANT(found(start, "\"scope\":\"outer > inner\""));
  WANT(found(start, "\"name\":\"key \\\"cache\\\"\""));
  later = cuvmm_mark();
  WANT(cuvmm_count(later, NULL) == 0 && !found(later, UNMAPPED));
  misuse(base, 1);
  WANT(cuvmm_count(later, NULL) == 1 && found(later, "\"text\":\"cuvmm: "));
  WANT(cuvmm_findings(later, cut, sizeof cut) > 3 && strcmp(cut, "[{\"") == 0);
  WANT(cuvmm_scope_close(outer) == 0);
  WANT(cuvmm_name_range((void*)base, BYTES, NULL) == 0);
  later = cuvmm_mark();
  misuse(base, 1);
  WANT(!found(later, "cache"));
}

static void expectations(CUdeviceptr base) {
  const long start = cuvmm_mark();
  long one = cuvmm_expect(UNMAPPED, 2), other;
  misuse(base, 3);
  WANT(cuvmm_expect_end(one) == 0);
  WANT(cuvmm_count(start, NULL) == 1); /* the third one */
  one = cuvmm_expect("cuMemUnmap-*", CUVMM_ANY_COUNT);
  other = cuvmm_expect(RELEASED, 3);
  misuse(base, 5);
  WANT(cuvmm_expect_end(one) == 0 && cuvmm_expect_end(other) == 3);
  one = cuvmm_expect(UNMAPPED, CUVMM_ANY_COUNT);
  WANT(cuvmm_expect_end(one) == 1);
  WANT(cuvmm_count(start, NULL) == 1);
}

static void leaks(CUdeviceptr base) {
  const long start = cuvmm_mark();
  long mark, scope, expected;
  CUmemGenericAllocationHandle kept, mapped;
  WANT(cuvmm_name_handle(create(), "forgotten") == 0);
  WANT(cuvmm_leaks(start, CUVMM_LEAKS_PEEK) == 1 && cuvmm_count(start, NULL) == 0);
  WANT(cuvmm_leaks(start, 0) == 1 && cuvmm_leaks(start, 0) == 0); /* once each */
  WANT(cuvmm_count(start, RELEASED) == 1 && found(start, "\"name\":\"forgotten\""));
  mark = cuvmm_mark();
  scope = cuvmm_scope_open("fixture", CUVMM_SCOPE_KEEPS);
  kept = create();
  WANT(cuvmm_scope_close(scope) == 0);
  WANT(cuvmm_leaks(mark, 0) == 0 && cuvmm_leaks(mark, CUVMM_LEAKS_KEPT | CUVMM_LEAKS_PEEK) == 1);
  WANT(cuMemRelease(kept) == CUDA_SUCCESS);
  mapped = create();
  WANT(cuMemMap(base, BYTES, 0, mapped, 0) == CUDA_SUCCESS);
  WANT(cuvmm_leaks(mark, 0) == 0); /* it is in use */
  expected = cuvmm_expect(RELEASED, 1);
  WANT(cuvmm_leaks(mark, CUVMM_LEAKS_ALIVE) == 0 && cuvmm_expect_end(expected) == 0);
  WANT(cuMemUnmap(base, BYTES) == CUDA_SUCCESS && cuMemRelease(mapped) == CUDA_SUCCESS);
}

int main(int count, char** words) {
  CUdeviceptr base;
  if (count > 1 && strcmp(words[1], "none") == 0) {
    without_shim();
    return 0;
  }
  WANT(cuvmm_active());
  bad_arguments();
  WANT(cuvmm_mark() > 0 && cuvmm_leaks(0, 0) == 0); /* before the first call */
  WANT(cuvmm_fork_point(0) == 0 && cuvmm_fork_point(CUVMM_FORK_THREADS) == 0); /* nobody asks */
  WANT(cuInit(0) == CUDA_SUCCESS);
  base = reserve();
  errno = 77;
  scopes_and_counts(base);
  expectations(base);
  leaks(base);
  failures();
  WANT(errno == 77);
  WANT(cuvmm_count(0, NULL) > 0 && cuvmm_reset() == 0 && cuvmm_count(0, NULL) == 0);
  WANT(cuMemAddressFree(base, BYTES) == CUDA_SUCCESS);
  return 0;
}
