/* Patterns that choose functions of libraries.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"

static int add_one(struct meter_patterns *patterns, const char *text, struct error *err)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0')
        return error_set_usage(err, NULL, "a pattern must be LIBRARY:REGEX, not '%s'", text);
    struct meter_pattern pattern = {0};
    char *whole = mem_printf("^(%s)$", colon + 1);
    int wrong = regcomp(&pattern.regex, whole, REG_EXTENDED | REG_NOSUB);
    free(whole);
    if (wrong == REG_ESPACE)
        mem_run_out();
    if (wrong != 0) {
        char reason[200];
        regerror(wrong, &pattern.regex, reason, sizeof reason);
        return error_set_usage(err, NULL, "pattern '%s': %s", text, reason);
    }
    pattern.text = mem_strdup(text);
    pattern.library = mem_strndup(text, (size_t)(colon - text));
    mem_reserve(&patterns->items, &patterns->capacity, patterns->count + 1, sizeof pattern);
    patterns->items[patterns->count++] = pattern;
    return 0;
}

static int add_file(struct meter_patterns *patterns, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    int result = 0;
    if (file == NULL)
        return error_set_errno(err, path, errno, "cannot read patterns");
    while (result == 0 && (length = getline(&line, &capacity, file)) >= 0) {
        while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL)
            line[--length] = '\0';
        if (length > 0 && line[0] != '#')
            result = add_one(patterns, line, err);
    }
    if (result == 0 && ferror(file))
        result = error_set_errno(err, path, errno, "cannot read patterns");
    free(line);
    fclose(file);
    return result;
}

int meter_patterns_add(struct meter_patterns *patterns, const char *text, struct error *err)
{
    return text[0] == '@' ? add_file(patterns, text + 1, err) : add_one(patterns, text, err);
}

void meter_patterns_free(struct meter_patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        free(patterns->items[i].text);
        free(patterns->items[i].library);
        regfree(&patterns->items[i].regex);
    }
    free(patterns->items);
}

bool meter_pattern_has_file(const struct meter_pattern *pattern, const char *path,
                            const char *alias)
{
    const char *library = pattern->library;
    if (strchr(library, '/') != NULL)
        return fnmatch(library, path, 0) == 0 || (alias != NULL && strcmp(library, alias) == 0);
    return fnmatch(library, elf_base_name(path), 0) == 0 ||
           (alias != NULL && fnmatch(library, elf_base_name(alias), 0) == 0);
}

bool meter_pattern_has_name(const struct meter_pattern *pattern, const char *name)
{
    return regexec(&pattern->regex, name, 0, NULL, 0) == 0;
}
