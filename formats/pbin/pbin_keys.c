/* The keys that rows can have, and lists of them.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "formats/pbin/pbin.h"

static const struct pbin_key keys[] = {
    {"process", false, false},    {"thread", false, true},       {"binary", true, false},
    {"file", true, false},        {"function", true, false},     {"inline", true, false},
    {"line", false, false},       {"pc", false, false},          {"comm", true, false},
    {"program", true, false},     {"linkage-name", true, false}, {"outer-line", false, false},
    {"basic-block", true, false}, {"instruction", true, false},  {"stack-inline", true, false},
    {"opcode", true, false},
};
#define KEYS (sizeof keys / sizeof keys[0])
_Static_assert(KEYS <= PBIN_MAX_KEYS, "a row has room for all keys");

const struct pbin_key *pbin_key_get(size_t number)
{
    return number < KEYS ? &keys[number] : NULL;
}

int pbin_key_find(const char *name, size_t length)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0)
            return (int)i;
    return -1;
}

static int unknown_key(const char *name, size_t length, const char *file, struct error *err)
{
    char known[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < KEYS && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i > 0 ? ", " : "",
                               keys[i].name);
    return error_set(err, file, NO_OFFSET, "unknown key '%.*s', expected one of %s",
                     (int)(length < 64 ? length : 64), name, known);
}

int pbin_keys_parse(struct pbin_keys *list, const char *names, const char *file, struct error *err)
{
    list->count = 0;
    for (const char *at = names;; at += strcspn(at, ",") + 1) {
        size_t length = strcspn(at, ",");
        int key = pbin_key_find(at, length);
        if (key < 0)
            return unknown_key(at, length, file, err);
        if (pbin_keys_index(list, keys[key].name) < list->count)
            return error_set(err, file, NO_OFFSET, "key %s is named twice", keys[key].name);
        list->key[list->count++] = key;
        if (at[length] == '\0')
            return 0;
    }
}

struct pbin_keys pbin_keys_of(const char *names)
{
    struct pbin_keys list = {0};
    struct error unused = {0};
    pbin_keys_parse(&list, names, NULL, &unused);
    return list;
}

size_t pbin_keys_index(const struct pbin_keys *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(keys[list->key[i]].name, name) != 0)
        i++;
    return i;
}
