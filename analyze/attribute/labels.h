/* Labels of rows without code.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_LABELS_H
#define ANALYZE_ATTRIBUTE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LABEL_IDLE     "_idle"  /* energy while no thread used CPU time */
#define LABEL_GAP      "_gap"   /* the part of intervals beyond the longest allowed one */
#define LABEL_OTHER    "_other" /* rows beyond a limit */
#define LABEL_TOTAL    "_total"
#define LABEL_ANY      "_any"      /* for a key that only rows of the target binary have */
#define LABEL_OTHERS   "_others"   /* energy that other programs used at the same time */
#define LABEL_RESIDUAL "_residual" /* energy that least squares do not explain */

/* The labels of energy that no code used, numbered from 0; NULL after the last. */
static inline const char *energy_label(size_t number)
{
    static const char *const labels[] = {LABEL_IDLE, LABEL_GAP, LABEL_OTHERS, LABEL_RESIDUAL, NULL};
    return labels[number];
}

/* Returns whether NAME is that of a row without code, or of the sum of many rows. */
static inline bool label_is_no_code(const char *name)
{
    for (size_t i = 0; energy_label(i) != NULL; i++)
        if (strcmp(name, energy_label(i)) == 0)
            return true;
    return strcmp(name, LABEL_OTHER) == 0;
}

/* CPU time of processes whose threads were never seen running; a record of it is not a sample. */
#define LABEL_UNSAMPLED "_unsampled"

/* A separate row that collects what filters exclude; tables show it as a fact. */
#define LABEL_EXCLUDED "_excluded"

/* Labels of code that has no name. */
#define LABEL_UNKNOWN "_unknown" /* in a known binary, without a symbol */
#define LABEL_FOREIGN "_foreign" /* outside every mapping */
#define LABEL_KERNEL  "_kernel"

/* Returns whether TEXT, the name of code that is in a mapping (MAPPED) or in none, is a label of
 * code without a name. */
static inline bool label_is_nameless(const char *text, bool mapped)
{
    return strcmp(text, LABEL_UNKNOWN) == 0 ||
           (!mapped && (strcmp(text, LABEL_FOREIGN) == 0 || strcmp(text, LABEL_KERNEL) == 0 ||
                        strcmp(text, LABEL_UNSAMPLED) == 0));
}

/* Returns NAME, the name of a function, file, program or thread, as the value of a key that differs
 * from all labels. Borrowed like NAME. */
static inline const char *label_unlike(const char *name)
{
#define NAMED(label)                                                                               \
    {                                                                                              \
        label, label " [name]"                                                                     \
    }
    static const char *const all[][2] = {
        NAMED(LABEL_IDLE),     NAMED(LABEL_GAP),     NAMED(LABEL_OTHER),    NAMED(LABEL_TOTAL),
        NAMED(LABEL_ANY),      NAMED(LABEL_OTHERS),  NAMED(LABEL_RESIDUAL), NAMED(LABEL_UNSAMPLED),
        NAMED(LABEL_EXCLUDED), NAMED(LABEL_UNKNOWN), NAMED(LABEL_FOREIGN),  NAMED(LABEL_KERNEL)};
#undef NAMED
    for (size_t i = 0; name[0] == '_' && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i][0]) == 0)
            return all[i][1];
    return name;
}

/* In a row without code, all texts are its label, and all numbers are one of these, none of which is
 * a valid thread, line or address. */
#define NUMBER_EXCLUDED UINT64_MAX
#define NUMBER_IDLE     (UINT64_MAX - 1)
#define NUMBER_GAP      (UINT64_MAX - 2)
#define NUMBER_RESIDUAL (UINT64_MAX - 3)
#define NUMBER_OTHERS   (UINT64_MAX - 4)
#define NUMBER_ANY      (UINT64_MAX - 5) /* LABEL_ANY, in rows with code */

/* The label of NUMBER; NULL if it is a real value. */
static inline const char *label_of_number(uint64_t number)
{
    return number == NUMBER_IDLE       ? LABEL_IDLE
           : number == NUMBER_GAP      ? LABEL_GAP
           : number == NUMBER_RESIDUAL ? LABEL_RESIDUAL
           : number == NUMBER_OTHERS   ? LABEL_OTHERS
           : number == NUMBER_EXCLUDED ? LABEL_EXCLUDED
           : number == NUMBER_ANY      ? LABEL_ANY
                                       : NULL;
}

/* The number of LABEL_IDLE, LABEL_GAP, LABEL_OTHERS or LABEL_RESIDUAL. */
static inline uint64_t number_of_label(const char *label)
{
    return strcmp(label, LABEL_IDLE) == 0     ? NUMBER_IDLE
           : strcmp(label, LABEL_GAP) == 0    ? NUMBER_GAP
           : strcmp(label, LABEL_OTHERS) == 0 ? NUMBER_OTHERS
                                              : NUMBER_RESIDUAL;
}

#endif
