/* Shared by the parts of the preload library: frames of calls, and the interface to code for a processor architecture.
 *
 * A call is identified by its SLOT: an address on the stack that no other call has while the frame
 * of this call exists. BACK is the place of its return address when the function is entered, where
 * it may be changed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_PRELOAD_H
#define RECORD_FUNCMETER_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/funcmeter/shared.h"

#define INTERNAL __attribute__((visibility("hidden")))

struct frame {
    uint64_t *slot;
    /* the true return address; for a tail call by the function of another frame, that of
     * meter_return */
    uint64_t back;
    uint32_t function;
    bool inherited; /* entered before the fork: not a call of this process */
    bool restored;  /* it returns to the true address */
    uint64_t start; /* [ticks] */
    uint64_t child; /* time of the watched calls within the call */
    uint64_t cost;  /* of the hooks within the call */
#ifdef __aarch64__
    uint64_t exit;       /* address in the library to which it returns */
    uint64_t resume;     /* address at which the function continues after the hook */
    uint64_t *saved;     /* where the function has saved the return address */
    uint64_t put, taken; /* contents of SAVED while the frame is restored, and otherwise */
#endif
};

/* The state of a thread. */
struct state {
    uint32_t process; /* its ID; 0: unknown */
    bool busy;        /* it is in a hook: a signal handler must not use the frames */
    bool restored;    /* some frames are restored */
    struct meter_record *records;
    struct meter_arc *arcs; /* NULL: not counted */
    struct frame *frames;
    struct dropped_frame *dropped;
    uint64_t count;     /* frames in use */
    uint32_t current;   /* function of the frame that was last pushed or popped */
    uint64_t left;      /* when frames were last left without a return [ticks]; 0: never */
    uint64_t *unwinder; /* slot of the last unwinder */
    uint64_t backtrace; /* the true _Unwind_Backtrace */
    uint64_t page;      /* page size of the system [bytes] */
    uint64_t exits;     /* number of exits watched so far */
    uint64_t cost_inside, cost_total; /* as in meter_header, at present */
    uint64_t read;                    /* cost of reading the system's clock [ns]; 0: unknown */
    uint64_t read_at;                 /* when this cost was measured [ns] */
    uint64_t read_again;              /* time spent on these measurements [ns] */
};

/* Called by the code for the architecture: meter_enter when a function is entered, with the NUMBER
 * of its thunk; meter_leave when it returns, at time TICKS. Both return where to continue. */
INTERNAL uint64_t meter_enter(uint64_t *slot, uint64_t number, uint64_t *back);
INTERNAL uint64_t meter_leave(uint64_t *slot, uint64_t ticks);

/* In the code for the architecture: the code to which thunks jump; a function that takes about 50
 * ns, and a thunk for it. */
extern void meter_enter_code(void) INTERNAL;
extern void meter_dummy(void) INTERNAL;
extern void meter_dummy_thunk(void) INTERNAL;

/* Puts the true return addresses back for an unwinder that was called with SLOT and BACK. If
 * several frames have the same slot, puts back the address of the first. */
INTERNAL void meter_put_back(struct state *t, const uint64_t *slot, uint64_t *back);
/* Watches those returns again that still lead to the true address. */
INTERNAL void meter_take_again(struct state *t);
/* Returns the first slot that a longjmp called with BACK does not leave. */
INTERNAL uint64_t *meter_jump_target(const uint64_t *back);
/* Changes code, which is writable. */
INTERNAL void meter_write_code(uint8_t *code, const uint8_t *bytes, uint64_t size);

#ifdef __x86_64__
extern void meter_return(void) INTERNAL;

/* The return address is in the slot. */
#define METER_BACK(slot, back) ((void)(back), (slot))

/* Makes the call of the new frame F of T, whose function continues at RESUME, return to the
 * library. */
static inline void meter_watch(struct state *t, struct frame *f, uint64_t resume, uint64_t *back)
{
    (void)t, (void)f, (void)resume;
    *back = (uint64_t)meter_return;
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

/* Calls CODE with the result of the previous call in VALUE. The compiler only assumes that
 * registers change that a hook may change. */
static inline uint64_t meter_call(void (*code)(void), uint64_t value)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n call *%1\n lea 128(%%rsp), %%rsp"
                     : "+a"(value)
                     : "r"(code)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    return value;
}
#elif defined __aarch64__
enum { METER_EXITS = 16384 /* instructions */ };
extern uint32_t meter_returns[METER_EXITS] INTERNAL;

/* The return address is in a register, whose copy will be restored. */
#define METER_BACK(slot, back) (back)

static inline void meter_watch(struct state *t, struct frame *f, uint64_t resume, uint64_t *back)
{
    f->resume = resume;
    f->exit = (uint64_t)&meter_returns[t->exits++ % METER_EXITS];
    *back = f->exit;
}

static inline bool meter_is_return(uint64_t address)
{
    return address - (uint64_t)meter_returns < sizeof meter_returns;
}

static inline long meter_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

static inline uint64_t meter_call(void (*code)(void), uint64_t value)
{
    register uint64_t x0 __asm__("x0") = value;
    __asm__ volatile("blr %1" : "+r"(x0) : "r"(code) : "x16", "x17", "x30", "memory");
    return x0;
}
#endif

#endif
