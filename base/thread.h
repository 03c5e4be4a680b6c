/* Threads that compute.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* CPUs that this process may run on, at least 1. */
size_t thread_cpus(void);

/* A thread that calls WORK with OPAQUE, on another CPU than this one where there is one. Returns whether there is such
 * a thread; it is to be joined. There is none where the address space is limited (ulimit -v), or threads are. */
bool thread_start(pthread_t *thread, void *(*work)(void *), void *opaque);

#endif
