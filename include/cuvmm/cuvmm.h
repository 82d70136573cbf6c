/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions by which a program talks to cuvmm while it runs under the shim
 * (docs/testing/README.md).
 *
 * There is no library to link. Each function looks for the shim in its own process; without the
 * shim, the function does nothing and returns 0. C89 and newer, and C++. Thread-safe, but not for
 * signal handlers. errno stays as it was.
 *
 * A setting holds for the whole process, all its threads, and for children of fork. A negative
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
#define CUVMM_ERROR_TOKEN (-3L)    /* nothing open has this token: never opened, or closed */
#define CUVMM_ERROR_FAILED (-4L)   /* out of memory, or the shim is off in this process */

/* Flags of cuvmm_scope_open. */
#define CUVMM_SCOPE_KEEPS 1u /* objects made in the scope may stay: cuvmm_leaks leaves them out */
#define CUVMM_SCOPE_QUIET 2u /* the caller shows the findings: the shim prints none on stderr */

/* Flags of cuvmm_leaks. */
#define CUVMM_LEAKS_ALIVE 1u /* also objects still in use: all memory and reservations */
#define CUVMM_LEAKS_PEEK 2u  /* only count the leaks: they do not become findings yet */
#define CUVMM_LEAKS_KEPT 4u  /* also objects made in scopes with CUVMM_SCOPE_KEEPS */

/* Flags of cuvmm_fork_point. */
#define CUVMM_FORK_THREADS 1u /* the process may be forked although other threads would be lost */

/* As `count` of cuvmm_expect: any number of occurrences, but at least one. */
#define CUVMM_ANY_COUNT 0L

/* The shim's table of functions. New members are only added at its end; `size` says how long the
   shim's table is. Use the functions below, which check `size`. */
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
  long (*fail_report)(long token, char* buffer, size_t size);
  long (*fork_point)(unsigned flags);
} cuvmm_api;

/* The shim exports this function as cuvmmGetApi. It returns the table of this version, or NULL if
   the shim does not have that version. */
typedef const cuvmm_api* (*cuvmm_get_api)(unsigned version);

#if defined(__GNUC__)
#define CUVMM_UNUSED __attribute__((unused))
#else
#define CUVMM_UNUSED
#endif

/* dlsym() under another name, because <dlfcn.h> declares RTLD_DEFAULT only under a feature macro.
   Weak, because the symbol may be missing: if the C library is older than 2.34 and the program does
   not link libdl, only the shim brings it. */
extern void* cuvmm_dlsym_(void* handle, const char* name) __asm__("dlsym") __attribute__((weak));

/* The shim's table, or a table without functions. */
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

/* 1 if the shim is in this process and has this version of the table; else 0. */
static CUVMM_UNUSED int cuvmm_active(void) { return cuvmm_table_()->size != 0; }

/* Gives the memory in [address, address + size) a name, which findings and leaks then use. `size`
   is in bytes. An empty name, or NULL, removes the names there. The name holds until the
   reservation or the memory at the address ends. Memory of cuMemCreate that is mapped there now
   gets the name as well. */
static CUVMM_UNUSED long cuvmm_name_range(const void* address, size_t size, const char* name) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, name_range) ? table->name_range(address, size, name) : 0;
}

/* The same for memory of cuMemCreate, by its handle, whether or not it is mapped. */
static CUVMM_UNUSED long cuvmm_name_handle(unsigned long handle, const char* name) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, name_handle) ? table->name_handle(handle, name) : 0;
}

/* Opens a scope, such as a test. Findings and new objects carry the name of the scope until it is
   closed; in a scope inside of another they carry both names, as "outer > inner". Returns a token
   for cuvmm_scope_close. */
static CUVMM_UNUSED long cuvmm_scope_open(const char* name, unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, scope_open) ? table->scope_open(name, flags) : 0;
}
static CUVMM_UNUSED long cuvmm_scope_close(long scope) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, scope_close) ? table->scope_close(scope) : 0;
}

/* Expects `count` occurrences of the rule with the id `rule` from now on. These are no findings;
   any more of them are. CUVMM_ANY_COUNT expects any number. In the id, * stands for any letters.
   Returns a token for cuvmm_expect_end, which returns how many occurrences are missing (for
   CUVMM_ANY_COUNT: 1 if there was none). */
static CUVMM_UNUSED long cuvmm_expect(const char* rule, long count) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, expect) ? table->expect(rule, count) : 0;
}
static CUVMM_UNUSED long cuvmm_expect_end(long expectation) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, expect_end) ? table->expect_end(expectation) : 0;
}

/* Returns a mark for this moment, for the functions below. The mark 0 stands for the start of the
   process, or for the last cuvmm_reset. */
static CUVMM_UNUSED long cuvmm_mark(void) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, mark) ? table->mark() : 0;
}

/* Returns the number of findings since a mark, repeats included: of one rule, or (NULL) of all
   errors, undefined behaviour and leaks. */
static CUVMM_UNUSED long cuvmm_count(long mark, const char* rule) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, count) ? table->count(mark, rule) : 0;
}

/* Writes the findings since a mark as a JSON array: as in the report (docs/report.md), each with a
   member "text" for people. Works like snprintf: writes at most `size` bytes, always ends them with
   a 0 byte if `size` is not 0, and returns the length of the whole array. So call it with
   (mark, NULL, 0) first. */
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

/* Looks for leaks among the objects made since a mark: objects that the program no longer uses and
   has not ended, as at exit (docs/findings.md). Each leak becomes a finding once. Returns the
   number of leaks. */
static CUVMM_UNUSED long cuvmm_leaks(long mark, unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, leaks) ? table->leaks(mark, flags) : 0;
}

/* Closes all scopes, ends all expectations and removes all names; the mark 0 stands for this moment
   from now on. The report at the end of the process still has all findings. */
static CUVMM_UNUSED long cuvmm_reset(void) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, reset) ? table->reset() : 0;
}

/* Makes calls of the driver's functions fail as `spec` says, such as "cuMemCreate@3" or
   "each@2=OUT_OF_MEMORY" (docs/testing/fail.md). The counts in `spec` begin now. The driver does
   not get a call that cuvmm makes fail. With NULL or "", no call fails, but calls are counted.
   Holds in this process only, not in children of fork. Returns a token for the functions below, or
   CUVMM_ERROR_ARGUMENT if `spec` is wrong; then stderr has the reason. */
static CUVMM_UNUSED long cuvmm_fail(const char* spec) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fail) ? table->fail(spec) : 0;
}

/* Ends a cuvmm_fail. Returns the number of calls that cuvmm made fail. */
static CUVMM_UNUSED long cuvmm_fail_end(long token) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fail_end) ? table->fail_end(token) : 0;
}

/* Writes {"calls":N,"failures":N,"failed":[{"call","number","result"}]}: the number of calls since
   cuvmm_fail, among those that can fail and give nothing up; the number of calls that cuvmm made
   fail; and the first of these. Works like cuvmm_findings; writes "" without the shim. */
static CUVMM_UNUSED long cuvmm_fail_report(long token, char* buffer, size_t size) {
  const cuvmm_api* const table = cuvmm_table_();
  if (CUVMM_HAS_(table, fail_report)) return table->fail_report(token, buffer, size);
  if (buffer && size > 0) buffer[0] = '\0';
  return 0;
}

/* Marks a place where cuvmm may fork the program. `cuvmm fail --each --fork-server` starts the
   program once, and each run continues from the first call of this function, or from the first
   cuInit if that comes earlier. So call the function in the main thread, after everything that
   takes long to load and before any use of CUDA. Returns 1 in such a run, else 0. Handlers of
   pthread_atfork run, but Python's do not. Other threads do not survive a fork, so cuvmm starts a
   program with other threads anew for each run, unless the flag CUVMM_FORK_THREADS says that the
   program can do without them. */
static CUVMM_UNUSED long cuvmm_fork_point(unsigned flags) {
  const cuvmm_api* const table = cuvmm_table_();
  return CUVMM_HAS_(table, fork_point) ? table->fork_point(flags) : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* CUVMM_CUVMM_H_ */
