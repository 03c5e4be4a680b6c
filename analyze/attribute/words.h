/* The options of attribution as words, such as "cpu-time energy-model=share": what an aggregated profile records about how
 * its samples were weighed (pbin.5, field attribution). They decide which profiles can be added up, and which options
 * are satisfied without samples.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WORDS_H
#define ANALYZE_ATTRIBUTE_WORDS_H

#include "analyze/attribute/attribute.h"

/* A word is the option of pbin-aggregate without its dashes. */
enum { ATTRIBUTION_WORD = 64 };

/* All words of OPTIONS, in a fixed order, separated by blanks. Caller frees. */
char *attribution_words(const struct attribution_options *options);

/* Is WORD among WORDS? NULL has no words. */
bool attribution_has(const char *words, const char *word);

/* Does WORDS count the whole intervals of threads, running or not? */
bool attribution_is_wall(const char *words);

/* The first word of the options that were given (OPTIONS->given) that is not among WORDS, in WORD. Returns whether there
 * is one: a profile with WORDS does not satisfy them. */
bool attribution_lacks(const char *words, const struct attribution_options *options,
                       char word[ATTRIBUTION_WORD]);

/* How WORDS differ from OTHERS, as "with --wall-time" or "without --max-gap=1", in TEXT. Returns whether they do; NULL
 * (not recorded) never does. */
enum { ATTRIBUTION_DIFFERENCE = ATTRIBUTION_WORD + 16 };
bool attribution_differs(const char *words, const char *others, char text[ATTRIBUTION_DIFFERENCE]);

/* Adds OTHERS, of the profile NAME, to *WORDS, of those before it; NULL is not recorded and fits all. Returns 0, or -1 with
 * ERR filled if they differ. The caller frees *WORDS. */
int attribution_unite(char **words, const char *others, const char *name, struct error *err);

#endif
