/* Loops that gain most from vectors: where the compiler can choose at start-up, it does.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_VECTORS_H
#define BASE_VECTORS_H

/* In front of a function: compiled for several generations of processors. Results are the same on all. Not with
 * sanitizers, which are not ready when the choice is made. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                \
    !defined(__SANITIZE_THREAD__)
#define VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORS
#endif

#endif
