/* The counter of the processor with which funcmeter measures times.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_TICKS_H
#define RECORD_FUNCMETER_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#include <cpuid.h>

/* Returns the time-stamp counter. */
static inline uint64_t ticks_now(void)
{
    return __builtin_ia32_rdtsc();
}

/* Returns whether the counter runs at the same rate in all states of the processor. */
static inline bool ticks_are_constant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
#elif defined __aarch64__
/* Returns the virtual counter, whose rate is constant. */
static inline uint64_t ticks_now(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline bool ticks_are_constant(void)
{
    uint64_t rate;
    __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
    return rate != 0;
}
#endif

#endif
