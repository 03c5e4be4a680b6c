/* Reads profiles into aggregates.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/ranking.h"

static bool has_key(const char *keys, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = keys; at != NULL;
         at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* binary and function, or the keys of an aggregated profile without functions. */
static void default_keys(const struct pbin_meta *meta, struct aggregate_options *options)
{
    const char *keys = meta->keys;
    if (keys == NULL || has_key(keys, "function"))
        keys = keys == NULL || has_key(keys, "binary") ? "binary,function" : "function";
    options->key_count = 0;
    for (const char *at = keys; at != NULL && options->key_count < PBIN_MAX_KEYS;) {
        size_t length = strcspn(at, ",");
        int key = pbin_key_find(at, length);
        if (key >= 0)
            options->keys[options->key_count++] = key;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
}

static void choose_keys(const struct plot *plot, const struct pbin_meta *meta, const int *keys,
                        size_t key_count, struct aggregate_options *options)
{
    if (key_count == 0) {
        keys = plot->options->keys;
        key_count = plot->options->key_count;
    }
    if (key_count == 0) {
        default_keys(meta, options);
        return;
    }
    options->key_count = 0;
    for (size_t i = 0; i < key_count; i++) {
        const char *name = pbin_key_get((size_t)keys[i])->name;
        /* aggregate_read reports requested keys that are missing */
        if (keys == plot->options->keys || meta->keys == NULL || has_key(meta->keys, name))
            options->keys[options->key_count++] = keys[i];
    }
    if (options->key_count == 0)
        default_keys(meta, options);
}

static int read_one(const struct plot *plot, struct aggregate **a, const char *path,
                    const int *keys, size_t key_count, struct error *err)
{
    struct stream *in = stream_open(path, err);
    struct pbin_reader *reader =
        in == NULL ? NULL : pbin_reader_open(in, plot->options->salvage, err);
    int result = -1;
    if (reader != NULL && *a == NULL) {
        struct aggregate_options options = {0};
        choose_keys(plot, pbin_reader_meta(reader), keys, key_count, &options);
        *a = aggregate_new(&options);
    }
    if (reader != NULL)
        result = aggregate_read(*a, reader, stream_name(in), 1, plot->reporter, err);
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

struct aggregate *ranking_read_keys(const struct plot *plot, const char *const *paths, size_t count,
                                    const int *keys, size_t key_count, struct error *err)
{
    struct aggregate *a = NULL;
    int result = count == 0 ? read_one(plot, &a, NULL, keys, key_count, err) : 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_one(plot, &a, paths[i], keys, key_count, err);
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
    return ranking_read_keys(plot, paths, count, NULL, 0, err);
}
