/* Memory allocation that succeeds or ends the program.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether this thread may end the program while other threads exist. */
static _Thread_local bool may_exit;

void mem_allow_exit(void)
{
    may_exit = true;
}

/* Needs no memory. */
void mem_run_out(void)
{
    char line[256], most[96] = "";
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        bool small = limit.rlim_cur < 1024;
        snprintf(most, sizeof most, ": more than %llu %s needed (--max-memory)",
                 (unsigned long long)limit.rlim_cur >> (small ? 0 : 10),
                 !small                ? "KB are"
                 : limit.rlim_cur == 1 ? "byte is"
                                       : "bytes are");
    }
    int length = snprintf(line, sizeof line, "%.100s: out of memory%s\n",
                          program_invocation_short_name, most);
    bool written = write(STDERR_FILENO, line, (size_t)length) == length;
    bool safe = gettid() == getpid() || may_exit;
    if (!written || !safe) /* other threads still use data that exit would release */
        _exit(1);
    exit(1); /* the functions registered with on_exit remove unfinished files */
}

static void *check(void *memory)
{
    if (memory == NULL)
        mem_run_out();
    return memory;
}

void *mem_alloc(size_t size)
{
    return check(malloc(size > 0 ? size : 1));
}

void *mem_zalloc(size_t count, size_t size)
{
    return check(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *mem_aligned(size_t alignment, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        check(NULL);
    return check(aligned_alloc(alignment, bytes > 0 ? bytes : alignment));
}

void *mem_resize(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        check(NULL);
    return check(realloc(old, bytes > 0 ? bytes : 1));
}

char *mem_strdup(const char *text)
{
    return check(strdup(text));
}

char *mem_strndup(const char *text, size_t length)
{
    return check(strndup(text, length));
}

char *mem_vprintf(const char *format, va_list args)
{
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    return check(length < 0 ? NULL : text);
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = mem_vprintf(format, args);
    va_end(args);
    return text;
}

void mem_append(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *more = mem_vprintf(format, args);
    va_end(args);
    char *longer = mem_printf("%s%s", *text != NULL ? *text : "", more);
    free(*text);
    free(more);
    *text = longer;
}

void mem_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
    void *memory;
    if (need <= *capacity)
        return;
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < need)
        if (__builtin_mul_overflow(wanted, 2, &wanted))
            check(NULL);
    memcpy(&memory, array, sizeof memory); /* ARRAY is a T **: copied, to avoid aliasing */
    memory = mem_resize(memory, wanted, size);
    memcpy(array, &memory, sizeof memory);
    *capacity = wanted;
}

void mem_add(void *array, size_t *count, size_t *capacity, size_t need, size_t size)
{
    char *memory;
    mem_reserve(array, capacity, need, size);
    memcpy(&memory, array, sizeof memory);
    memset(memory + *count * size, 0, (need - *count) * size);
    *count = need;
}
