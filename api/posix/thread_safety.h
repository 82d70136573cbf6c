// SPDX-License-Identifier: Apache-2.0
// Tells clang which lock guards which member (-Wthread-safety). Other compilers see nothing.
#pragma once

#if defined(__clang__)
#define CUVMM_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define CUVMM_THREAD_SAFETY(attribute)
#endif

/// A class that is a lock.
#define CUVMM_LOCK CUVMM_THREAD_SAFETY(capability("mutex"))
/// A class that holds a lock for its scope.
#define CUVMM_SCOPED_LOCK CUVMM_THREAD_SAFETY(scoped_lockable)
/// A member that may be read and written only under this lock.
#define CUVMM_GUARDED_BY(lock) CUVMM_THREAD_SAFETY(guarded_by(lock))
/// A function that takes the locks, releases them, or needs them held by its caller.
#define CUVMM_ACQUIRES(...) CUVMM_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define CUVMM_RELEASES(...) CUVMM_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define CUVMM_NEEDS(...) CUVMM_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// A function that takes the lock if it returns true.
#define CUVMM_TRIES(...) CUVMM_THREAD_SAFETY(try_acquire_capability(true, ##__VA_ARGS__))
/// A function that clang cannot check; its comment says why it is right.
#define CUVMM_UNCHECKED CUVMM_THREAD_SAFETY(no_thread_safety_analysis)
