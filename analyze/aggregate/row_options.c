/* The options that several tools with rows by key share.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/row_options.h"

#include <string.h>

#include "analyze/attribute/attribute.h"
#include "base/tool.h"

static bool has(const struct pbin_keys *keys, const char *name)
{
    return pbin_keys_index(keys, name) < keys->count;
}

/* Inserts the key NEEDED before the key NAME, which is ambiguous without it, unless it is already a
 * key. */
static void insert_before(struct pbin_keys *keys, const char *name, const char *needed)
{
    size_t at = pbin_keys_index(keys, name);
    if (at == keys->count || has(keys, needed))
        return;
    memmove(keys->key + at + 1, keys->key + at, (keys->count - at) * sizeof keys->key[0]);
    keys->key[at] = pbin_key_find(needed, strlen(needed));
    keys->count++;
}

void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    struct error err = {0};
    if (pbin_keys_parse(keys, list, NULL, &err) != 0)
        argp_error(state, "-k: %s", err.text);
    keys->offsets = has(keys, "pc");
    insert_before(keys, "pc", "binary");
    insert_before(keys, "basic-block", "binary");
    if (!has(keys, "file"))
        insert_before(keys, "line", "inline");
}

void external_keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    static const char *const of_threads[] = {"process", "program", "thread", "comm"};
    struct error err = {0};
    struct pbin_keys kept = {0};
    if (pbin_keys_parse(&kept, list, NULL, &err) != 0)
        argp_error(state, "--external-keys: %s", err.text);
    for (size_t i = 0; i < keys->count; i++)
        keys->only_target |= UINT64_C(1) << keys->key[i];
    for (size_t i = 0; i < sizeof of_threads / sizeof of_threads[0]; i++)
        keys->only_target &= ~(UINT64_C(1) << pbin_key_find(of_threads[i], strlen(of_threads[i])));
    for (size_t i = 0; i < kept.count; i++) {
        const char *name = pbin_key_get((size_t)kept.key[i])->name;
        if (!has(keys, name))
            argp_error(state, "--external-keys: %s is not among the keys (-k)", name);
        keys->only_target &= ~(UINT64_C(1) << kept.key[i]);
    }
}

void latency_option(struct weigh_options *weigh, unsigned *given, const char *how,
                    struct argp_state *state)
{
    *given |= 1U << OPTION_LATENCY;
    bool threads =
        how != NULL && tool_either(state, "--subtract-latency", how, "interval", "thread");
    weigh->latency = threads ? LATENCY_OF_THREADS : LATENCY_OF_INTERVALS;
}

void kernel_option(struct pbin_keys *keys, unsigned *given, const char *argument,
                   struct argp_state *state)
{
    *given |= 1U << OPTION_KERNEL;
    keys->caller = tool_either(state, "--kernel", argument, "own", "caller");
}

bool mode_option(const char *argument, struct argp_state *state)
{
    return tool_either(state, "--mode", argument, "mean", "add");
}

void filter_option(struct selection *selection, const char *text, bool exclude,
                   struct argp_state *state)
{
    const char *wrong = selection_add(selection, text, exclude);
    if (wrong != NULL)
        argp_error(state, "filter '%s' %s", text, wrong);
}
