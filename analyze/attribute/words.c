/* The options of attribution as words.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

/* The word of an option; "" if it has no effect with the others. */
static void word_of(const struct attribution_options *o, enum attribution_option option,
                    char word[ATTRIBUTION_WORD])
{
    const struct weigh_options *w = &o->weigh;
    const struct energy_model *model = w->model != NULL ? w->model : &energy_by_share;
    bool shares = model == &energy_by_share && !w->wall_time;
    char number[32];
    word[0] = '\0';
    switch (option) {
    case OPTION_TIME:
        snprintf(word, ATTRIBUTION_WORD, "%s", w->wall_time ? "wall-time" : "cpu-time");
        break;
    case OPTION_MODEL:
        snprintf(word, ATTRIBUTION_WORD, "energy-model=%s", model->name);
        break;
    case OPTION_OTHERS:
        if (shares)
            snprintf(word, ATTRIBUTION_WORD, "others=%s", w->ignore_others ? "ignore" : "split");
        break;
    case OPTION_LAG:
        format_real(number, sizeof number, w->lag);
        if (shares)
            snprintf(word, ATTRIBUTION_WORD, "sensor-lag=%s", number);
        break;
    case OPTION_KERNEL:
        snprintf(word, ATTRIBUTION_WORD, "kernel=%s", o->keys.caller ? "caller" : "own");
        break;
    case OPTION_GAP:
        format_real(number, sizeof number, w->max_gap);
        if (w->max_gap > 0)
            snprintf(word, ATTRIBUTION_WORD, "max-gap=%s", number);
        break;
    case OPTION_LATENCY:
        if (w->latency != LATENCY_KEPT)
            snprintf(word, ATTRIBUTION_WORD, "subtract-latency%s",
                     w->latency == LATENCY_OF_THREADS ? "=thread" : "");
        break;
    }
}

char *attribution_words(const struct attribution_options *options)
{
    char *words = mem_strdup("");
    for (int i = 0; i < ATTRIBUTION_OPTIONS; i++) {
        char word[ATTRIBUTION_WORD];
        word_of(options, (enum attribution_option)i, word);
        if (word[0] == '\0')
            continue;
        char *longer = mem_printf("%s%s%s", words, words[0] != '\0' ? " " : "", word);
        free(words);
        words = longer;
    }
    return words;
}

/* Moves *REST to the beginning of the next word. Returns its length; 0 if there is none. */
static size_t next_word(const char **rest)
{
    *rest += strspn(*rest, " ");
    return strcspn(*rest, " ");
}

static bool contains(const char *list, const char *word, size_t length)
{
    for (size_t n; (n = next_word(&list)) > 0; list += n)
        if (n == length && memcmp(list, word, n) == 0)
            return true;
    return false;
}

bool attribution_has(const char *words, const char *word)
{
    return words != NULL && contains(words, word, strlen(word));
}

bool attribution_is_wall(const char *words)
{
    return attribution_has(words, "wall-time");
}

bool attribution_lacks(const char *words, const struct attribution_options *options,
                       char word[ATTRIBUTION_WORD])
{
    for (int i = 0; i < ATTRIBUTION_OPTIONS; i++) {
        word_of(options, (enum attribution_option)i, word);
        bool given = (options->given >> i & 1) != 0 && word[0] != '\0';
        if (given && !attribution_has(words, word))
            return true;
    }
    return false;
}

/* Sets TEXT to HOW and the first word of REST that is not in LIST. Returns whether there is one. */
static bool find_extra(const char *rest, const char *list, const char *how,
                       char text[ATTRIBUTION_DIFFERENCE])
{
    for (size_t n; (n = next_word(&rest)) > 0; rest += n) {
        if (contains(list, rest, n))
            continue;
        int shown = n < ATTRIBUTION_WORD ? (int)n : ATTRIBUTION_WORD;
        snprintf(text, ATTRIBUTION_DIFFERENCE, "%s --%.*s", how, shown, rest);
        return true;
    }
    return false;
}

bool attribution_differs(const char *words, const char *others, char text[ATTRIBUTION_DIFFERENCE])
{
    if (words == NULL || others == NULL)
        return false;
    return find_extra(words, others, "with", text) || find_extra(others, words, "without", text);
}

int attribution_unite(char **words, const char *others, const char *name, struct error *err)
{
    char how[ATTRIBUTION_DIFFERENCE];
    if (attribution_differs(others, *words, how))
        return error_set(err, name, NO_OFFSET, "was attributed %s, unlike previous profiles", how);
    if (*words == NULL && others != NULL)
        *words = mem_strdup(others);
    return 0;
}
