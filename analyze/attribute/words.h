/* The options of attribution as words, such as "cpu-time energy-model=share": the part of an
 * aggregated profile that records how its samples were weighed (pbin.5, field attribution). The
 * words determine which profiles can be added up, and which options they satisfy without samples.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WORDS_H
#define ANALYZE_ATTRIBUTE_WORDS_H

#include "analyze/attribute/attribute.h"

/* A word is an option of pbin-aggregate without the dashes. */
enum { ATTRIBUTION_WORD = 64 };

/* All words of OPTIONS, in a fixed order, separated by blanks. The caller frees them. */
char *attribution_words(const struct attribution_options *options);

/* Returns whether WORD is among WORDS. NULL has no words. */
bool attribution_has(const char *words, const char *word);

/* Returns whether, with WORDS, threads are charged with whole intervals, whether or not they
 * ran. */
bool attribution_is_wall(const char *words);

/* Sets WORD to the first word of the options that were given (OPTIONS->given) that is not among
 * WORDS. Returns whether there is one; a profile with WORDS then does not satisfy the options. */
bool attribution_lacks(const char *words, const struct attribution_options *options,
                       char word[ATTRIBUTION_WORD]);

/* Sets TEXT to the difference between WORDS and OTHERS, such as "with --wall-time" or "without
 * --max-gap=1". Returns whether they differ. NULL (not recorded) never differs. */
enum { ATTRIBUTION_DIFFERENCE = ATTRIBUTION_WORD + 16 };
bool attribution_differs(const char *words, const char *others, char text[ATTRIBUTION_DIFFERENCE]);

/* Adds OTHERS, the words of the profile NAME, to *WORDS, those of the profiles before. NULL (not
 * recorded) fits all. Returns 0, or -1 with ERR filled if they differ. The caller frees *WORDS. */
int attribution_unite(char **words, const char *others, const char *name, struct error *err);

#endif
