/* Help on one screen, and usage without repetitions.
 * SPDX-License-Identifier: MIT */
#include "base/tool_help.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { LINE = 79, TEXT_COLUMN = 29, USAGE_INDENT = 12 };

/* The position at which words are printed. */
struct page {
    size_t column, indent;
    bool any; /* the line has a word */
};

static void put_word(struct page *page, const char *word, size_t length)
{
    if (page->any && page->column + 1 + length > LINE) {
        printf("\n%*s", (int)page->indent, "");
        page->column = page->indent;
        page->any = false;
    }
    page->column += length + page->any;
    printf("%s%.*s", page->any ? " " : "", (int)length, word);
    page->any = true;
}

/* Prints the words of TEXT up to one of the characters in END. */
static void put_words(struct page *page, const char *text, const char *end)
{
    size_t length = strcspn(text, end);
    for (size_t at = 0; at < length;) {
        size_t word = strcspn(text + at, " \n");
        word = word < length - at ? word : length - at;
        if (word > 0)
            put_word(page, text + at, word);
        at += word + 1;
    }
}

static bool has_letter(const struct argp_option *o)
{
    return o->key > ' ' && o->key < 0x7f;
}

static bool is_listed(const struct argp_option *o)
{
    return o->key != 0 && (o->flags & (OPTION_HIDDEN | OPTION_ALIAS)) == 0 &&
           (o->name != NULL || has_letter(o));
}

static bool is_last(const struct argp_option *o)
{
    return o->key == 0 && o->name == NULL && o->doc == NULL && o->group == 0;
}

static void put_option(const struct argp *argp, const struct argp_option *o, void *input)
{
    char *name = !has_letter(o)    ? mem_printf("      --%s", o->name)
                 : o->name != NULL ? mem_printf("  -%c, --%s", o->key, o->name)
                                   : mem_printf("  -%c", o->key);
    char *full = mem_printf("%s%s%s", name,
                            o->arg == NULL    ? ""
                            : o->name != NULL ? "="
                                              : " ",
                            o->arg != NULL ? o->arg : "");
    char *doc = argp->help_filter != NULL ? argp->help_filter(o->key, o->doc, input)
                                          : (char *)(uintptr_t)o->doc;
    struct page page = {.column = TEXT_COLUMN, .indent = TEXT_COLUMN};
    if (strlen(full) < TEXT_COLUMN)
        printf("%-*s", TEXT_COLUMN, full);
    else
        printf("%s\n%*s", full, TEXT_COLUMN, "");
    put_words(&page, doc, ";");
    putchar('\n');
    if (doc != o->doc)
        free(doc);
    free(full);
    free(name);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tables of options */
static void put_everyday(const struct argp *argp, void *input)
{
    for (const struct argp_option *o = argp->options; o != NULL && !is_last(o); o++)
        if ((o->flags & EVERYDAY) != 0)
            put_option(argp, o, input);
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++)
        put_everyday(child->argp, input);
}

/* Prints "Usage: tool [OPTION...] ARGUMENTS": a line for each line of args_doc except the first
 * SKIP. */
static void put_synopsis(const struct argp *argp, size_t skip)
{
    const char *at = argp->args_doc != NULL ? argp->args_doc : "";
    for (size_t i = 0; at[0] != '\0' || i == 0; i++) {
        size_t length = strcspn(at, "\n");
        if (i >= skip)
            printf("%s %s [OPTION...] %.*s\n",
                   i == 0 ? "Usage:" : "  or: ", program_invocation_short_name, (int)length, at);
        at += length + (at[length] != '\0');
    }
}

void tool_print_brief(const struct argp *const *argps, size_t count, void *input)
{
    struct page page = {0};
    const char *examples = strchr(argps[0]->doc, '\v');
    const char *end = examples != NULL ? strstr(examples, "\n\n") : NULL;
    put_synopsis(argps[0], 0);
    put_words(&page, argps[0]->doc, "\v");
    printf("\n\n");
    for (size_t i = 0; i < count; i++)
        put_everyday(argps[i], input);
    if (examples != NULL)
        printf("\n%.*s", end != NULL ? (int)(end - examples) : (int)strlen(examples + 1),
               examples + 1);
    printf("\nAll options: %s --help. Manual: man %s.\n", program_invocation_short_name,
           program_invocation_short_name);
}

/* The options that a pass of the usage shows. */
enum pass { LETTERS, LETTERS_WITH_ARGUMENT, NAMES };

static void put_usage_option(struct page *page, const struct argp_option *o, enum pass pass)
{
    char *text = NULL;
    if (pass == LETTERS_WITH_ARGUMENT && has_letter(o) && o->arg != NULL)
        text = mem_printf("[-%c %s]", o->key, o->arg);
    if (pass == NAMES && !has_letter(o)) {
        const char *arg = o->arg != NULL ? o->arg : "", *equals = o->arg != NULL ? "=" : "";
        bool optional = (o->flags & OPTION_ARG_OPTIONAL) != 0;
        text = mem_printf(optional ? "[--%s[%s%s]]" : "[--%s%s%s]", o->name, equals, arg);
    }
    if (text != NULL)
        put_word(page, text, strlen(text));
    free(text);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tables of options */
static void put_usage_of(struct page *page, const struct argp *argp, enum pass pass, char *letters)
{
    for (const struct argp_option *o = argp->options; o != NULL && !is_last(o); o++) {
        if (!is_listed(o))
            continue;
        if (pass == LETTERS && has_letter(o) && o->arg == NULL)
            letters[strlen(letters)] = (char)o->key;
        put_usage_option(page, o, pass);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++)
        put_usage_of(page, child->argp, pass, letters);
}

void tool_print_usage(const struct argp *const *argps, size_t count)
{
    struct page page = {.indent = USAGE_INDENT};
    char letters[128] = "[-";
    put_word(&page, "Usage:", 6);
    put_word(&page, program_invocation_short_name, strlen(program_invocation_short_name));
    for (int pass = LETTERS; pass <= NAMES; pass++) {
        for (size_t i = 0; i < count; i++)
            put_usage_of(&page, argps[i], (enum pass)pass, letters);
        if (pass != LETTERS)
            continue;
        letters[strlen(letters)] = ']';
        put_word(&page, letters, strlen(letters));
    }
    put_words(&page, argps[0]->args_doc != NULL ? argps[0]->args_doc : "", "\n");
    putchar('\n');
    put_synopsis(argps[0], 1);
}
