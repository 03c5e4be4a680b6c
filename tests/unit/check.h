/* Checks for C: each test function prints a line, `ok NAME` or `not ok NAME: file:line: why`.
 *
 *     static void adds_up(struct check *check)
 *     {
 *         CHECK_EQ(1 + 1, 2);
 *     }
 *     CHECK_MAIN({"adds_up", adds_up})
 *
 * A check that fails ends its function.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check {
    char why[1024]; /* the first failure; "" if there is none */
};

struct check_case {
    const char *name;
    void (*run)(struct check *check);
};

__attribute__((format(printf, 4, 5))) static inline void
check_failed(struct check *check, const char *file, int line, const char *format, ...)
{
    int used = snprintf(check->why, sizeof check->why, "%s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vsnprintf(check->why + used, sizeof check->why - (size_t)used, format, args);
    va_end(args);
    for (char *c = check->why; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
}

#define CHECK_FAIL(...)                                                                            \
    do {                                                                                           \
        check_failed(check, __FILE__, __LINE__, __VA_ARGS__);                                      \
        return;                                                                                    \
    } while (0)
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            CHECK_FAIL("%s", #condition);                                                          \
    } while (0)
/* Integers of any kind, compared as 64 bits. */
#define CHECK_EQ(got, want)                                                                        \
    do {                                                                                           \
        int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                                    \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s is %" PRId64 ", not %" PRId64, #got, got_, want_);                      \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (got_ == NULL || strcmp(got_, want_) != 0)                                              \
            CHECK_FAIL("%s is \"%s\", not \"%s\"", #got, got_ == NULL ? "(null)" : got_, want_);   \
    } while (0)
/* Checks that TEXT contains PART. */
#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        if (strstr(text_, part_) == NULL)                                                          \
            CHECK_FAIL("%s is \"%s\", without \"%s\"", #text, text_, part_);                       \
    } while (0)
#define CHECK_MEM(got, want, size)                                                                 \
    do {                                                                                           \
        if (memcmp((got), (want), (size)) != 0)                                                    \
            CHECK_FAIL("%s differs from %s", #got, #want);                                         \
    } while (0)

static inline int check_main(const struct check_case *cases, size_t count, int argc, char **argv)
{
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct check check = {""};
        if (argc > 1 && strcmp(argv[1], "--list") == 0) {
            puts(cases[i].name);
            continue;
        }
        cases[i].run(&check);
        if (check.why[0] == '\0')
            printf("ok %s\n", cases[i].name);
        else
            printf("not ok %s: %s\n", cases[i].name, check.why);
        fflush(stdout);
        failed += check.why[0] != '\0';
    }
    return failed == 0 ? 0 : 1;
}

#define CHECK_MAIN(...)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct check_case cases[] = {__VA_ARGS__};                                    \
        return check_main(cases, sizeof cases / sizeof cases[0], argc, argv);                      \
    }

#endif
