/* Memory allocation that succeeds or ends the program. No other library code may exit.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

/* Each returns memory that the caller frees with free(), never NULL. If there is not enough memory,
 * or COUNT * SIZE overflows, it prints "TOOL: out of memory", with the limit if there is one, and
 * exits with status 1. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t count, size_t size);
void *mem_aligned(size_t alignment, size_t count,
                  size_t size); /* the product must be a multiple of ALIGNMENT */
void *mem_resize(void *old, size_t count, size_t size);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t length);
char *mem_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Appends text as formatted by printf to *TEXT, which may move; NULL counts as "". Arguments may be *TEXT. */
void mem_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call it in a thread whose creator only waits for it. If that thread runs out of memory, the
 * functions registered with on_exit are called, as for the main thread: they remove or name
 * unfinished files. They are not called for other threads, because the main thread may be using
 * those files. */
void mem_allow_exit(void);

/* Ends the program when a library reports that it is out of memory. */
_Noreturn void mem_run_out(void);

/* Makes room for at least NEED elements of SIZE bytes in *ARRAY, doubling *CAPACITY. */
void mem_reserve(void *array, size_t *capacity, size_t need, size_t size);

/* The same, and adds zeroed elements to *ARRAY until *COUNT is NEED. mem_extend does this if *COUNT
 * is less than NEED. */
void mem_add(void *array, size_t *count, size_t *capacity, size_t need, size_t size);
static inline void mem_extend(void *array, size_t *count, size_t *capacity, size_t need,
                              size_t size)
{
    if (need > *count)
        mem_add(array, count, capacity, need, size);
}

/* MEM_AT is a pointer to element AT of ARRAY, MEM_APPEND to a new element after its COUNT elements.
 * Both make room for the element, and are valid until the next call. The arguments are evaluated
 * several times. */
#define MEM_AT(array, at, capacity)                                                                \
    (mem_reserve(&(array), &(capacity), (size_t)(at) + 1, sizeof *(array)), &(array)[at])
#define MEM_APPEND(array, count, capacity)                                                         \
    (mem_reserve(&(array), &(capacity), (count) + 1, sizeof *(array)), &(array)[(count)++])

#endif
