/* Rewrites the names of functions and files before rows are made from them.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/name_rules.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/clones.h"
#include "analyze/attribute/labels.h"
#include "base/elide.h"
#include "base/memory.h"
#include "base/tool.h"

enum { KEY_SHORT = KEY_TOOL_FIRST, KEY_NO_DEMANGLE, KEY_JOIN, KEY_STRIP, KEY_MAP, NAME_GROUP = 40 };

bool name_rules_any(const struct name_rules *r)
{
    return r != NULL &&
           (r->short_names || r->join_clones || r->map_count > 0 || r->strip_count > 0);
}

static bool is_chain(const char *key)
{
    return strcmp(key, "stack-inline") == 0;
}

static bool is_function(const char *key)
{
    return strcmp(key, "function") == 0 || strcmp(key, "inline") == 0 || is_chain(key);
}

bool name_rules_apply(const struct name_rules *r, const char *key)
{
    return name_rules_any(r) && (is_function(key) ? r->short_names || r->join_clones
                                                  : strcmp(key, "file") == 0 &&
                                                        (r->map_count > 0 || r->strip_count > 0));
}

bool name_rules_linkage(const struct name_rules *r, const char *key)
{
    return r != NULL && r->no_demangle && is_function(key);
}

/* ---- functions ---- */

static char *rewrite_function(const struct name_rules *r, const char *name, size_t length)
{
    char *copy = mem_strndup(name, length);
    if (r->join_clones)
        copy[clone_stem_length(copy)] = '\0';
    if (!r->short_names)
        return copy;
    char *shorter = elide_arguments(copy, ELIDE_SIGNATURE);
    free(copy);
    return shorter;
}

/* Names are separated by ";", which demangled names do not contain. */
static char *rewrite_chain(const struct name_rules *r, const char *chain)
{
    char *all = mem_strdup("");
    for (const char *at = chain;; at++) {
        size_t length = strcspn(at, ";");
        char *name = rewrite_function(r, at, length);
        char *longer = mem_printf("%s%s%s", all, at > chain ? ";" : "", name);
        free(name);
        free(all);
        all = longer;
        at += length;
        if (*at == '\0')
            return all;
    }
}

/* ---- files ---- */

/* PATH without ".", repeated slashes, and ".." after a folder. The caller frees it. */
static char *normalise(const char *path)
{
    const size_t root = path[0] == '/';
    char *to = mem_alloc(strlen(path) + 2);
    size_t size = 0;
    if (root)
        to[size++] = '/';
    for (const char *at = path + root; *at != '\0';) {
        size_t length = strcspn(at, "/");
        bool is_dots = length == 2 && at[0] == '.' && at[1] == '.';
        to[size] = '\0';
        const char *last = strrchr(to, '/');
        const char *before = last != NULL ? last + 1 : to;
        if (is_dots && size > root && strcmp(before, "..") != 0) {
            size = before > to + root ? (size_t)(before - to) - 1 : root;
        } else if (length > 0 && !(length == 1 && at[0] == '.') && !(is_dots && root)) {
            if (size > root)
                to[size++] = '/';
            memcpy(to + size, at, length);
            size += length;
        }
        at += length + (at[length] == '/');
    }
    to[size] = '\0';
    return to;
}

/* The length of the beginning of PATH that is the folder (or path) PREFIX; 0 if PATH is not below
 * it. */
static size_t prefix_of(const char *path, const char *prefix, size_t prefix_length)
{
    char *text = mem_strndup(prefix, prefix_length), *folder = normalise(text);
    size_t length = strlen(folder);
    bool fits = length > 0 && strncmp(path, folder, length) == 0 &&
                (path[length] == '\0' || path[length] == '/' || folder[length - 1] == '/');
    free(text);
    free(folder);
    return fits ? length : 0;
}

static char *rewrite_path(const struct name_rules *r, const char *text)
{
    char *path = normalise(text);
    size_t length = 0;
    for (size_t i = 0; i < r->map_count && length == 0; i++) {
        size_t old = strcspn(r->maps[i], "=");
        length = prefix_of(path, r->maps[i], old);
        if (length == 0)
            continue;
        const char *rest = path + length + (path[length] == '/'), *to = r->maps[i] + old + 1;
        char *joined = mem_printf("%s%s%s", to, to[0] != '\0' && rest[0] != '\0' ? "/" : "", rest);
        free(path);
        path = normalise(joined);
        free(joined);
    }
    length = 0;
    for (size_t i = 0; i < r->strip_count && length == 0; i++)
        length = prefix_of(path, r->strips[i], strlen(r->strips[i]));
    const char *rest = path + length + (length > 0 && path[length] == '/');
    char *result = mem_strdup(rest[0] != '\0' ? rest : path);
    free(path);
    return result;
}

static char *rewrite(const struct name_rules *r, const char *key, const char *text)
{
    if (is_chain(key))
        return rewrite_chain(r, text);
    if (is_function(key))
        return rewrite_function(r, text, strlen(text));
    return text[0] != '\0' ? rewrite_path(r, text) : mem_strdup(text);
}

char *name_rules_rewrite(const struct name_rules *r, const char *key, const char *text)
{
    char *made = rewrite(r, key, text);
    const char *name = strcmp(made, text) != 0 ? label_unlike(made) : made;
    if (name == made)
        return made;
    free(made);
    return mem_strdup(name);
}

void name_rules_free(struct name_rules *r)
{
    free(r->maps);
    free(r->strips);
}

/* ---- options ---- */

static const struct argp_option options[] = {
    {0, 0, NULL, 0, "Names (rows whose names become equal are joined):", NAME_GROUP},
    {"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Functions by their linkage names: _Z4mainv",
     NAME_GROUP},
    {"short-names", KEY_SHORT, NULL, 0,
     "Functions without parameters and template arguments: sort<...>", NAME_GROUP},
    {"join-clones", KEY_JOIN, NULL, 0,
     "Count compiler-generated parts and copies (.cold, .part.0) as their function", NAME_GROUP},
    {"strip-prefix", KEY_STRIP, "DIR", 0, "Make paths below DIR relative to it (repeatable)",
     NAME_GROUP},
    {"map-prefix", KEY_MAP, "OLD=NEW", 0,
     "Replace the folder OLD of paths by NEW, before --strip-prefix (repeatable)", NAME_GROUP},
    {0}};

static void add(const char ***list, size_t *count, const char *text)
{
    *list = mem_resize(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = text;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct name_rules *r = state->input;
    switch (key) {
    case KEY_NO_DEMANGLE:
        r->no_demangle = true;
        return 0;
    case KEY_SHORT:
        r->short_names = true;
        return 0;
    case KEY_JOIN:
        r->join_clones = true;
        return 0;
    case KEY_STRIP:
        add(&r->strips, &r->strip_count, argument);
        return 0;
    case KEY_MAP:
        if (strchr(argument, '=') == NULL || argument[0] == '=')
            argp_error(state, "--map-prefix must be OLD=NEW, not '%s'", argument);
        add(&r->maps, &r->map_count, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp name_rules_argp = {.options = options, .parser = parse};
