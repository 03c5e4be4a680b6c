/* What the parts of the preload library share: frames of calls, and what depends on the architecture of the processor.
 *
 * A call is known by its SLOT: an address on the stack that no other call has while it is in its frame. BACK is where its
 * return address is, or may be changed, when the function is entered.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_METER_PRELOAD_H
#define RECORD_METER_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/meter/shared.h"

#define INTERNAL __attribute__((visibility("hidden")))

struct frame {
    uint64_t *slot;
    uint64_t
        back; /* the true return address; that of meter_return for a function that another frame's tail-called */
    uint32_t function;
    bool inherited; /* entered before the fork: not a call of this process */
    bool restored;  /* it returns to the true address */
    uint64_t start; /* [ticks] */
    uint64_t child; /* time of watched calls within */
    uint64_t cost;  /* of hooks within */
};

/* Of a thread. */
struct state {
    uint32_t process; /* its ID; 0: not known */
    bool busy;        /* in a hook: a signal handler must not use the frames */
    bool restored;    /* some frames are */
    struct meter_record *records;
    struct meter_arc *arcs; /* NULL: not counted */
    struct frame *frames;
    struct grave *graves;
    uint64_t count;     /* frames in use */
    uint32_t current;   /* function of the frame that was pushed or popped last */
    uint64_t left;      /* when frames were last left without a return [ticks], 0: never */
    uint64_t *unwinder; /* slot of the last unwinder */
    uint64_t backtrace; /* the true function */
};

/* Called by code for the architecture: of a hook when a function is entered, with its thunk's NUMBER; returns where to
 * continue, as does that for a return at time TICKS. */
INTERNAL uint64_t meter_enter(uint64_t *slot, uint64_t number, uint64_t *back);
INTERNAL uint64_t meter_leave(uint64_t *slot, uint64_t ticks);

/* That code: what thunks jump to; a function of about 50 ns, and a thunk for it. */
extern void meter_enter_code(void) INTERNAL;
extern void meter_dummy(void) INTERNAL;
extern void meter_dummy_thunk(void) INTERNAL;

/* Puts the true return addresses back for an unwinder, which was called with SLOT and BACK: of several frames with one slot,
 * that of the first. */
INTERNAL void meter_put_back(struct state *t, const uint64_t *slot, uint64_t *back);
/* Watches returns again, where they still lead to the true address. */
INTERNAL void meter_take_again(struct state *t);
/* The first slot that longjmp does not leave, which was called with BACK. */
INTERNAL uint64_t *meter_jump_target(const uint64_t *back);
/* Changes code, which is writable. */
INTERNAL void meter_write_code(uint8_t *code, const uint8_t *bytes, uint64_t size);

#ifdef __x86_64__
extern void meter_return(void) INTERNAL;

/* The return address is in the slot. */
#define METER_BACK(slot, back) ((void)(back), (slot))

/* The address that calls of a thread return to when they are watched. */
static inline uint64_t meter_new_return(void)
{
    return (uint64_t)meter_return;
}

static inline bool meter_is_return(uint64_t address)
{
    return address == (uint64_t)meter_return;
}

static inline long meter_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

/* Calls CODE with the result of the call before in VALUE. Only what a hook may change is taken to be changed. */
static inline uint64_t meter_call(void (*code)(void), uint64_t value)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n call *%1\n lea 128(%%rsp), %%rsp"
                     : "+a"(value)
                     : "r"(code)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    return value;
}
#endif

#endif
