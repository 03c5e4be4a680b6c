/* The preload library of funcmeter on x86-64.
 *
 * A slot is the place of the return address.
 *
 * SPDX-License-Identifier: MIT */
#ifdef __x86_64__ /* all files are checked on all architectures */

#include "record/funcmeter/preload.h"

/* All general registers that a call may change are saved, and the flags, because compilers and
 * assembler code rely on registers that a function does not change; vector registers are not
 * used. The clock is read immediately when a function returns, so that the hook does nothing
 * while the function is still busy, and after its result is available (lfence). The jump through
 * memory below the stack pointer is safe: signal handlers do not use 128 bytes there. */
#define SAVE_FIRST "push %rax\n push %rcx\n push %rdx\n"
#define SAVE_REST                                                                                  \
    "push %rsi\n push %rdi\n"                                                                      \
    "push %r8\n push %r9\n push %r10\n push %r11\n push %rbp\n"                                    \
    "seto %al\n lahf\n push %rax\n mov %rsp, %rbp\n and $-16, %rsp\n cld\n"
#define RESTORE                                                                                    \
    "mov %rbp, %rsp\n pop %rax\n add $0x7f, %al\n sahf\n"                                          \
    "pop %rbp\n pop %r11\n pop %r10\n pop %r9\n pop %r8\n"                                         \
    "pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n"
__asm__(".text\n .hidden meter_enter_code, meter_return, meter_dummy, meter_dummy_thunk\n"
        ".globl meter_enter_code\n .type meter_enter_code, @function\n"
        "meter_enter_code:\n" SAVE_FIRST SAVE_REST
        "lea 96(%rbp), %rdi\n" /* 11 registers and the number */
        "mov 88(%rbp), %rsi\n"
        "call meter_enter\n"
        "mov %rax, 88(%rbp)\n" RESTORE "lea 8(%rsp), %rsp\n jmp *-8(%rsp)\n"
        ".size meter_enter_code, . - meter_enter_code\n"
        ".globl meter_return\n .type meter_return, @function\n"
        "meter_return:\n"
        "lea -8(%rsp), %rsp\n" SAVE_FIRST
        "lfence\n rdtsc\n mov %rax, %rcx\n" SAVE_REST /* keeps rcx and rdx */
        "shl $32, %rdx\n lea (%rcx, %rdx), %rsi\n lea 88(%rbp), %rdi\n"
        "call meter_leave\n"
        "mov %rax, 88(%rbp)\n" RESTORE "lea 8(%rsp), %rsp\n jmp *-8(%rsp)\n"
        ".size meter_return, . - meter_return\n"
        ".globl meter_dummy\n .type meter_dummy, @function\n"
        "meter_dummy:\n .rept 64\n imul $3, %rax, %rax\n .endr\n ret\n"
        ".size meter_dummy, . - meter_dummy\n"
        ".globl meter_dummy_thunk\n .type meter_dummy_thunk, @function\n"
        "meter_dummy_thunk:\n push $0\n jmp meter_enter_code\n"
        ".size meter_dummy_thunk, . - meter_dummy_thunk\n");

void meter_put_back(struct state *t, const uint64_t *slot, uint64_t *back)
{
    (void)slot, (void)back;
    for (uint64_t i = t->count; i-- > 0;) {
        struct frame *f = &t->frames[i];
        if (meter_is_return(*f->slot)) {
            *f->slot = f->back;
            f->restored = true;
            t->restored = true;
        }
    }
    for (uint64_t i = t->count; i-- > 1;)
        if (t->frames[i].slot == t->frames[i - 1].slot)
            *t->frames[i - 1].slot = t->frames[i - 1].back;
}

void meter_take_again(struct state *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct frame *f = &t->frames[i];
        if (f->restored && *f->slot == f->back)
            *f->slot = (uint64_t)meter_return;
        f->restored = false;
    }
    t->restored = false;
}

/* rdi, which is among the registers that SAVE_REST pushed below the slot, points to the jmp_buf of
 * glibc, in which the stack pointer is encrypted. If it is not glibc's, frames may be dropped by
 * mistake: they are found in the table of dropped frames when they return. */
uint64_t *meter_jump_target(const uint64_t *back)
{
    enum { RDI = -6, STACK_POINTER = 6, ROTATED = 17 };
    const uint64_t *buffer = (const uint64_t *)back[RDI];
    uint64_t coded = buffer[STACK_POINTER], guard;
    __asm__("mov %%fs:0x30, %0" : "=r"(guard));
    return (uint64_t *)((coded >> ROTATED | coded << (64 - ROTATED)) ^ guard);
}

void meter_write_code(uint8_t *code, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        code[i] = bytes[i];
}

#endif
