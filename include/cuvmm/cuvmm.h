/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program can tell cuvmm, and ask it, while it runs under the shim (docs/testing/README.md).
 *
 * There is no library to link. Each function looks for the shim in its own process; without it, it
 * does nothing and returns 0. C89 and newer, and C++. Thread-safe, but not for signal handlers.
 * errno stays as it was.
 *
 * What is told holds for the whole process, all its threads, and for children of fork. A negative
 * result is one of the CUVMM_ERROR_ codes below.
 */
#ifndef CUVMM_CUVMM_H_
#define CUVMM_CUVMM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUVMM_API_VERSION 1

#define CUVMM_ERROR_ARGUMENT (-1L) /* an argument is NULL, empty, negative or an unknown flag */
#define CUVMM_ERROR_RULE (-2L)     /* no rule has this id, or an id that matches this pattern */
#define CUVMM_ERROR_TOKEN (-3L)    /* not open: never opened, or closed already */
#define CUVMM_ERROR_FAILED (-4L)   /* out of memory, or the shim is off in this process */

/* Flags of cuvmm_scope_open. */
#define CUVMM_SCOPE_KEEPS                                                                        \
  1u                         /* what is made in it may outlive a mark: cuvmm_leaks leaves it out \
                              */
#define CUVMM_SCOPE_QUIET 2u /* findings are not printed on stderr: the caller shows them */

/* Flags of cuvmm_leaks. */
#define CUVMM_LEAKS_ALIVE 1u /* also what is still in use: all memory and reservations */
#define CUVMM_LEAKS_PEEK 2u  /* only count: they do not become findings yet */
#define CUVMM_LEAKS_KEPT 4u  /* also what was made in scopes that keep */

/* Flags of cuvmm_fork_point. */
#define CUVMM_FORK_THREADS 1u /* the process may be forked although other threads would be lost */

/* How many occurrences cuvmm_expect takes: any number, but at least one is wanted. */
#define CUVMM_ANY_COUNT 0L

/* The table that the shim hands out. Members are only ever added, at the end; `size` says how far
   it reaches. Use the functions below, which look there. */
typedef struct cuvmm_api {
  unsigned version;
  unsigned size; /* bytes */
  long (*name_range)(const void* address, size_t size, const char* name);
  long (*name_handle)(unsigned long handle, const char* name);
  long (*scope_open)(const char* name, unsigned flags);
  long (*scope_close)(long scope);
  long (*expect)(const char* rule, long count);
  long (*expect_end)(long expectation);
  long (*mark)(void);
  long (*count)(long mark, const char* rule);
  long (*findings)(long mark, char* buffer, size_t size);
  long (*leaks)(long mark, unsigned flags);
  long (*reset)(void);
  long (*info)(char* buffer, size_t size);
  long (*fail)(const char* spec);
  long (*fail_end)(long token);
  long (*fail_told)(long token, char* buffer, size_t size);
  long (*fork_point)(unsigned flags);
} cuvmm_api;

/* What the shim exports: the table of this version, or NULL if it has none. */
typedef const cuvmm_api* (*cuvmm_get_api)(unsigned version);

#if defined(__GNUC__)
#define CUVMM_UNUSED __attribute__((unused))
#else
#define CUVMM_UNUSED
#endif

/* dlsym(), under a name of ours, as <dlfcn.h> has what we need behind a feature macro. Weak: where
   the C library is older than 2.34 and the program does not link libdl, it comes with the shim or
   not at all. */
extern void* cuvmm_dlsym_(void* handle, const char* name) __asm__("dlsym") __attribute__((weak));

/* The shim's table, or one without functions. */
static CUVMM_UNUSED const cuvmm_api* cuvmm_table_(void) {
  static const cuvmm_api none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  static const cuvmm_api* known = 0;
  const cuvmm_api* table = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (!table) {
    union {
      void* object;
      cuvmm_get_api function;
    } found;
    found.object = cuvmm_dlsym_ ? cuvmm_dlsym_(0, "cuvmmGetApi") : 0; /* 0: RTLD_DEFAULT */
    table = found.object ? found.function(CUVMM_API_VERSION) : 0;
    if (!table) table = &none;
    __atomic_store_n(&known, table, __ATOMIC_RELEASE);
  }
  return table;
}
#define CUVMM_HAS_(table, member) \
  (offsetof(cuvmm_api, member) + sizeof((table)->member) <= (table)->size && (table)->member)

/* 1 where the shim is in this process and speaks this version; else 0. */
static CUVMM_UNUSED int cuvmm_active(void) { return cuvmm_table_()->size != 0; }

/* Findings and leaks name what lies in [address, address + size) so. An empty name, or NULL, takes
   the names there away. It holds until the reservation or the memory that the address is in ends.
   Memory of cuMemCreate that is mapped there now gets the name as well. */
static CUVMM_UNUSED long cuvmm_name_range(const void* address, size_t size, const char* name) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, name_range) ? table->name_range(address, size, name) : 0;
}

/* The same for memory of cuMemCreate, by its handle, mapped or not. */
static CUVMM_UNUSED long cuvmm_name_handle(unsigned long handle, const char* name) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, name_handle) ? table->name_handle(handle, name) : 0;
}

/* Opens a scope, such as a test. Findings and objects that come until its end carry its name; those
   of a scope inside of another carry both, as "outer > inner". A token for cuvmm_scope_close. */
static CUVMM_UNUSED long cuvmm_scope_open(const char* name, unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, scope_open) ? table->scope_open(name, flags) : 0;
}
static CUVMM_UNUSED long cuvmm_scope_close(long scope) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, scope_close) ? table->scope_close(scope) : 0;
}

/* From here on, `count` occurrences of this rule are expected: they are no findings. More of them
   are. CUVMM_ANY_COUNT takes all. In the id, * stands for any letters. A token for
   cuvmm_expect_end, which returns how many did not come (of any: 1 if none did). */
static CUVMM_UNUSED long cuvmm_expect(const char* rule, long count) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, expect) ? table->expect(rule, count) : 0;
}
static CUVMM_UNUSED long cuvmm_expect_end(long expectation) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, expect_end) ? table->expect_end(expectation) : 0;
}

/* This moment, for the functions below. 0 is the beginning, or the last reset. */
static CUVMM_UNUSED long cuvmm_mark(void) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, mark) ? table->mark() : 0;
}

/* How many findings came since a mark, repeats included: of one rule, or (NULL) all errors,
   undefined behaviour and leaks. */
static CUVMM_UNUSED long cuvmm_count(long mark, const char* rule) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, count) ? table->count(mark, rule) : 0;
}

/* The findings since a mark as a JSON array: as in the report (docs/report.md), each with a member
   "text" for people. As snprintf: writes what fits, always ends it with 0 where size is not 0, and
   returns the length of the whole. So ask with (mark, NULL, 0) first. */
static CUVMM_UNUSED long cuvmm_findings(long mark, char* buffer, size_t size) {
  const cuvmm_api* const table = cuvmm_table_();
  if (CUVMM_HAS_(table, findings)) return table->findings(mark, buffer, size);
  if (buffer && size > 0) buffer[0] = size > 2 ? '[' : '\0';
  if (buffer && size > 2) {
    buffer[1] = ']';
    buffer[2] = '\0';
  }
  return 2;
}

/* Looks for leaks among what was made since a mark: what the program has given up and still pins,
   as at exit (docs/findings.md). They become findings, once each. How many these are. */
static CUVMM_UNUSED long cuvmm_leaks(long mark, unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, leaks) ? table->leaks(mark, flags) : 0;
}

/* Closes all scopes, ends all expectations, takes all names away; mark 0 is now. The report at the
   end of the process still has all findings. */
static CUVMM_UNUSED long cuvmm_reset(void) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, reset) ? table->reset() : 0;
}

/* From here on, calls of the driver's functions fail as `spec` says, such as "cuMemCreate@3" or
   "each@2=OUT_OF_MEMORY" (docs/testing/fail.md); the counts in it begin now. A call that is made to
   fail is not made. NULL or "": none fails, but calls are counted. In this process alone, not in
   children of fork. A token for the functions below; CUVMM_ERROR_ARGUMENT where spec is wrong, and
   stderr says what. */
static CUVMM_UNUSED long cuvmm_fail(const char* spec) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fail) ? table->fail(spec) : 0;
}

/* No more of it. How many calls were made to fail. */
static CUVMM_UNUSED long cuvmm_fail_end(long token) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fail_end) ? table->fail_end(token) : 0;
}

/* {"calls":N,"failures":N,"failed":[{"call","number","result"}]}: how many calls came since, of
   those that can fail and give nothing up, and the first ones that were made to fail. As
   cuvmm_findings; "" without the shim. */
static CUVMM_UNUSED long cuvmm_fail_told(long token, char* buffer, size_t size) {
  const cuvmm_api* const table = cuvmm_table_();
  if (CUVMM_HAS_(table, fail_told)) return table->fail_told(token, buffer, size);
  if (buffer && size > 0) buffer[0] = '\0';
  return 0;
}

/* Here the program may be forked. `cuvmm fail --each --fork-server` starts it once and lets each
   run go on from the first call of this function, or from the first cuInit where that comes
   earlier. So call it behind what takes long to load and before any use of CUDA, in the main
   thread. 1 in such a run; else 0. Handlers of pthread_atfork run, but none of Python. Other
   threads do not survive a fork; a program that has some is started anew for each run, unless the
   flag says that it can do without them. */
static CUVMM_UNUSED long cuvmm_fork_point(unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fork_point) ? table->fork_point(flags) : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* CUVMM_CUVMM_H_ */
