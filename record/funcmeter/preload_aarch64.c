/* The preload library of funcmeter on aarch64.
 *
 * A slot is the stack pointer of the caller: functions are entered with their return address in a
 * register, and may save it anywhere. When an unwinder has to see it, the library searches the
 * stack for it: no two calls of a thread return to the same address in the library, so that an
 * address that is found does not belong to another call.
 *
 * SPDX-License-Identifier: MIT */
#ifdef __aarch64__ /* all files are checked on all architectures */

#include "record/funcmeter/preload.h"

#include <stddef.h>
#include <sys/syscall.h>

/* Stack of a hook: x0 to x17, flags, frame pointer and return address. All general registers
 * that a call may change are saved, and the flags, because compilers and assembler code rely on
 * registers that a function does not change. Exceptions are x16 and x17 on entry, which veneers
 * may use. Compiler options exclude x18 and vector registers. The clock is read immediately when
 * a function returns, after its result is available (isb). The hook is left with a return,
 * because its target need not be a landing pad; BL comes first, to keep the processor's stack of
 * return addresses in step. Data that remains on the stack must not look like an address that
 * the function has saved. */
#define SAVE                                                                                       \
    "stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n stp x4, x5, [sp, #48]\n"                      \
    "stp x6, x7, [sp, #64]\n stp x8, x9, [sp, #80]\n stp x10, x11, [sp, #96]\n"                    \
    "stp x12, x13, [sp, #112]\n stp x14, x15, [sp, #128]\n"
#define RESTORE                                                                                    \
    "ldr x17, [sp, #144]\n msr nzcv, x17\n"                                                        \
    "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n ldp x4, x5, [sp, #48]\n"                      \
    "ldp x6, x7, [sp, #64]\n ldp x8, x9, [sp, #80]\n ldp x10, x11, [sp, #96]\n"                    \
    "ldp x12, x13, [sp, #112]\n ldp x14, x15, [sp, #128]\n"                                        \
    "ldp x29, x30, [sp]\n str xzr, [sp, #8]\n add sp, sp, #160\n"
__asm__(".text\n .hidden meter_enter_code, meter_returns, meter_dummy, meter_dummy_thunk\n"
        ".globl meter_enter_code\n .type meter_enter_code, %function\n"
        "meter_enter_code:\n" /* w17 contains the number */
        "stp x29, x30, [sp, #-160]!\n mov x29, sp\n" SAVE "mrs x16, nzcv\n str x16, [sp, #144]\n"
        "add x0, sp, #160\n mov w1, w17\n add x2, sp, #8\n"
        "bl meter_enter\n"
        "mov x16, x0\n" RESTORE "br x16\n"
        ".size meter_enter_code, . - meter_enter_code\n"
        ".globl meter_returns\n .type meter_returns, %function\n"
        "meter_returns:\n .rept 16384\n b 1f\n .endr\n"
        "1:\n stp x29, x30, [sp, #-160]!\n" SAVE "isb\n mrs x1, cntvct_el0\n"
        "mrs x9, nzcv\n str x9, [sp, #144]\n mov x29, sp\n"
        "add x0, sp, #160\n"
        "bl meter_leave\n"
        "mov x16, x0\n" RESTORE "bl 2f\n 2: mov x30, x16\n ret\n"
        ".size meter_returns, . - meter_returns\n"
        ".globl meter_dummy\n .type meter_dummy, %function\n"
        "meter_dummy:\n .rept 64\n mul x0, x0, x0\n .endr\n ret\n"
        ".size meter_dummy, . - meter_dummy\n"
        ".globl meter_dummy_thunk\n .type meter_dummy_thunk, %function\n"
        "meter_dummy_thunk:\n mov w17, #0\n b meter_enter_code\n"
        ".size meter_dummy_thunk, . - meter_dummy_thunk\n");

/* Returns ADDRESS as PACIASP (or PACIBSP) would sign it in a function that was entered with SLOT;
 * unchanged if the processor does not sign. */
static uint64_t sign(uint64_t address, const uint64_t *slot, bool second)
{
    register uint64_t x17 __asm__("x17") = address;
    register uint64_t x16 __asm__("x16") = (uint64_t)slot;
    if (second)
        __asm__("hint #10" : "+r"(x17) : "r"(x16)); /* PACIB1716 */
    else
        __asm__("hint #8" : "+r"(x17) : "r"(x16)); /* PACIA1716 */
    return x17;
}

/* Returns the true return address of the first of the frames that have the slot of frame LAST. */
static uint64_t first_back(const struct state *t, uint64_t last)
{
    while (last > 0 && t->frames[last - 1].slot == t->frames[last].slot)
        last--;
    return t->frames[last].back;
}

/* The way in which a function signs its return address. */
enum signature { PLAIN, KEY_A, KEY_B };

/* Returns how the function of F signs with its first instruction, if it does. A signature has few
 * bits, which may all be zero: the saved address does not show whether it was signed. */
static enum signature signature_of(const struct frame *f)
{
    const uint32_t word = *(const uint32_t *)f->resume;
    return word == 0xd503233f ? KEY_A : word == 0xd503237f ? KEY_B : PLAIN; /* PACIASP, PACIBSP */
}

static uint64_t signed_as(enum signature how, uint64_t address, const uint64_t *slot)
{
    return how == PLAIN ? address : sign(address, slot, how == KEY_B);
}

/* Replaces the return address of F by BACK if it is at AT. */
static bool replace(struct frame *f, uint64_t *at, uint64_t back)
{
    const uint64_t bits = (UINT64_C(1) << 39) - 1; /* the bits that a signature never uses */
    if (((*at ^ f->exit) & bits) != 0)
        return false;
    enum signature how = signature_of(f);
    if (how == PLAIN && *at != f->exit) /* it is signed later */
        how = *at == sign(f->exit, f->slot, false) ? KEY_A : KEY_B;
    if (*at != signed_as(how, f->exit, f->slot))
        return false;
    f->saved = at;
    f->taken = *at;
    f->put = signed_as(how, back, f->slot);
    f->restored = true;
    *at = f->put;
    return true;
}

/* Finds where F has saved its return address: below its slot, and, unless LOW is on another stack,
 * not below LOW. */
static bool find(struct frame *f, const uint64_t *low, uint64_t back, uint64_t page)
{
    enum { MAX_DISTANCE = 1 << 20 };
    const uint64_t last = page - sizeof *low; /* last word of a page */
    uint64_t *at = f->slot;
    uint8_t unused;
    if (low > at || at - low > MAX_DISTANCE)
        low = at - MAX_DISTANCE;
    while (at-- > low) {
        if ((uint64_t)at % page == last &&
            meter_call6(SYS_mincore, (long)((uint64_t)at - last), 1, (long)&unused, 0, 0, 0) != 0)
            return false;
        if (replace(f, at, back))
            return true;
    }
    return false;
}

void meter_put_back(struct state *t, const uint64_t *slot, uint64_t *back)
{
    const uint64_t *low = slot;
    for (uint64_t i = t->count; i-- > 0;) {
        struct frame *f = &t->frames[i];
        if (*back == f->exit && f->slot == slot) /* it has jumped to the unwinder */
            *back = first_back(t, i);
        else if (!f->restored && low != f->slot && find(f, low, first_back(t, i), t->page))
            t->restored = true;
        low = f->slot;
    }
}

void meter_take_again(struct state *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct frame *f = &t->frames[i];
        if (f->restored && *f->saved == f->put)
            *f->saved = f->taken;
        f->restored = false;
    }
    t->restored = false;
}

/* Defined by the loader of glibc. */
extern uint64_t pointer_guard __asm__("__pointer_chk_guard") __attribute__((weak));

/* x0 points to the jmp_buf of glibc, in which the stack pointer is encrypted. If the jmp_buf is
 * from another library, live frames may be dropped; they are found again when they return. */
uint64_t *meter_jump_target(const uint64_t *back)
{
    enum { X0 = 1, STACK_POINTER = 13 };
    const uint64_t *buffer = (const uint64_t *)back[X0];
    uint64_t guard = &pointer_guard != NULL ? pointer_guard : 0;
    return (uint64_t *)(buffer[STACK_POINTER] ^ guard) +
           1; /* functions that it called have this slot */
}

/* Makes SIZE changed bytes at CODE visible to instruction fetches. The compiler's function for this
 * is in a library. */
static void flush(const uint8_t *code, uint64_t size)
{
    uint64_t type;
    __asm__("mrs %0, ctr_el0" : "=r"(type));
    const uint64_t data = UINT64_C(4) << (type >> 16 & 15), fetched = UINT64_C(4) << (type & 15);
    const uint64_t from = (uint64_t)code, end = from + size;
    for (uint64_t at = from & ~(data - 1); at < end; at += data)
        __asm__ volatile("dc cvau, %0" ::"r"(at) : "memory");
    __asm__ volatile("dsb ish" ::: "memory");
    for (uint64_t at = from & ~(fetched - 1); at < end; at += fetched)
        __asm__ volatile("ic ivau, %0" ::"r"(at) : "memory");
    __asm__ volatile("dsb ish\n isb" ::: "memory");
}

/* Writes each instruction as a whole, the first one last. */
void meter_write_code(uint8_t *code, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = size / sizeof(uint32_t); i-- > 0;) {
        uint32_t word = 0;
        for (uint64_t k = sizeof word; k-- > 0;)
            word = word << 8 | bytes[i * sizeof word + k];
        __atomic_store_n((uint32_t *)code + i, word, __ATOMIC_RELEASE);
    }
    flush(code, size);
}

#endif
