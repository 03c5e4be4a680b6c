/* Function variants for several processor generations, selected at start-up if the compiler supports it.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_VECTORS_H
#define BASE_VECTORS_H

#include "base/sanitizers.h"

/* Put before a function, compiles it for several processor generations, with the same results on
 * all. Not used with sanitizers, because the selection takes place before they are initialised. */
#if defined(__x86_64__) && !defined(__clang__) && !ADDRESS_SANITIZER &&                            \
    !defined(__SANITIZE_THREAD__)
#define VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORS
#endif

/* Put before a function, compiles a copy of it wherever it is called: within VECTORS, for the same
 * processor, and for the arguments that are constant there. With the address sanitizer, it is an
 * ordinary function, because compiling the checks would take five times as long. */
#if ADDRESS_SANITIZER
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

/* Prefetches the numbers at TO + WRITE_AHEAD, which will be written in WRITE_AHEAD steps. For loops
 * over arrays that are not in the first-level cache, because processors look ahead for loads, but
 * stores wait for each other. Prefetching beyond the end does no harm. */
enum { WRITE_AHEAD = 64 };
#define WILL_WRITE(to) __builtin_prefetch((to) + WRITE_AHEAD, 1)

#endif
