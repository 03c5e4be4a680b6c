/* Worker threads.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The number of CPUs that this process may run on, at least 1. */
size_t thread_cpus(void);

/* Starts a thread that calls WORK with OPAQUE, on another CPU if there is one. Returns true if it started; the caller
 * joins it. Returns false if the address space (ulimit -v) or the number of threads is limited. */
bool thread_start(pthread_t *thread, void *(*work)(void *), void *opaque);

#endif
