/* Reads profiles into aggregates.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "plot/ranking.h"

/* Returns binary and function, or the keys of an aggregated profile without functions. */
static struct pbin_keys default_keys(const struct pbin_keys *theirs)
{
    if (theirs->count == 0 || pbin_keys_index(theirs, "binary") < theirs->count)
        if (theirs->count == 0 || pbin_keys_index(theirs, "function") < theirs->count)
            return pbin_keys_of("binary,function");
    if (pbin_keys_index(theirs, "function") < theirs->count)
        return pbin_keys_of("function");
    return *theirs;
}

/* Returns the requested keys, of which aggregate_read reports missing ones, or those of KEYS, the
 * defaults of a kind, that the profile has. */
static struct pbin_keys choose_keys(const struct plot *plot, const struct pbin_keys *theirs,
                                    const struct pbin_keys *keys)
{
    struct pbin_keys chosen = {.count = 0};
    if (keys == NULL)
        chosen = plot->options->keys;
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        const char *name = pbin_key_get((size_t)keys->key[i])->name;
        if (theirs->count == 0 || pbin_keys_index(theirs, name) < theirs->count)
            chosen.key[chosen.count++] = keys->key[i];
    }
    chosen = chosen.count > 0 ? chosen : default_keys(theirs);
    chosen.caller = plot->options->keys.caller;
    return chosen;
}

static int read_one(const struct plot *plot, struct aggregate **a, const char *path,
                    const struct pbin_keys *keys, struct error *err)
{
    report_awaited(plot->reporter, path, "a pbin profile");
    struct stream *in = stream_open(path, err);
    struct pbin_reader *reader =
        in == NULL ? NULL : pbin_reader_open(in, plot->options->choice, err);
    int result = -1;
    if (reader != NULL && *a == NULL) {
        struct aggregate_options options = {0};
        options.rows.keys = choose_keys(plot, pbin_reader_keys(reader), keys);
        options.rows.selection = plot->options->selection;
        options.rows.names = &plot->options->names;
        options.rows.code = plot->options->code;
        options.rows.given = plot->options->given;
        *a = aggregate_new(&options);
    }
    if (reader != NULL)
        result = aggregate_read(*a, reader, stream_name(in), 1, plot->reporter, err);
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

struct aggregate *ranking_read_keys(const struct plot *plot, const char *const *paths, size_t count,
                                    const struct pbin_keys *keys, struct error *err)
{
    struct aggregate *a = NULL;
    int result = count == 0 ? read_one(plot, &a, NULL, keys, err) : 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_one(plot, &a, paths[i], keys, err);
    if (result == 0)
        result = aggregate_finish(a, err);
    if (result == 0 && aggregate_row_count(a) == 0)
        result = error_set(err, count > 0 ? paths[0] : "<stdin>", NO_OFFSET, "no samples to draw");
    if (result == 0)
        return a;
    aggregate_delete(a);
    return NULL;
}

struct aggregate *ranking_read(const struct plot *plot, const char *const *paths, size_t count,
                               struct error *err)
{
    return ranking_read_keys(plot, paths, count, NULL, err);
}
