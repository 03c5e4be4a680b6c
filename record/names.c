/* Names of threads.
 * SPDX-License-Identifier: MIT */
#include "record/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

static void clear(struct raw_thread *threads, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        free(threads[i].name);
    *count = 0;
}

void names_free(struct names *names)
{
    clear(names->known, &names->known_count);
    clear(names->news, &names->news_count);
    free(names->known);
    free(names->news);
    *names = (struct names){0};
}

/* Caller frees; NULL when the thread is gone. */
static char *read_name(pid_t pid, pid_t tid)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    if (got > 0 && text[got - 1] == '\n')
        got--;
    return got > 0 ? mem_strndup(text, (size_t)got) : NULL;
}

static int by_tid(const void *left, const void *right)
{
    const struct raw_thread *a = left, *b = right;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static const char *find(const struct names *names, uint32_t tid)
{
    struct raw_thread key = {.tid = tid}, *found = NULL;
    if (names->known_count > 0)
        found = bsearch(&key, names->known, names->known_count, sizeof key, by_tid);
    return found != NULL ? found->name : NULL;
}

/* Makes it news when it is; returns the name (caller frees) or NULL. */
static char *look(struct names *names, pid_t pid, pid_t tid)
{
    char *name = read_name(pid, tid);
    const char *before = find(names, (uint32_t)tid);
    if (name == NULL || (before != NULL && strcmp(before, name) == 0))
        return name;
    mem_reserve(&names->news, &names->news_capacity, names->news_count + 1, sizeof *names->news);
    names->news[names->news_count++] =
        (struct raw_thread){(uint32_t)tid, (uint32_t)pid, mem_strdup(name)};
    return name;
}

void names_look(struct names *names, pid_t pid, const struct engine_sample *sample)
{
    struct raw_thread *now = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < sample->count; i++) {
        char *name = look(names, pid, (pid_t)sample->threads[i].tid);
        if (name == NULL)
            continue;
        mem_reserve(&now, &capacity, count + 1, sizeof *now);
        now[count++] = (struct raw_thread){sample->threads[i].tid, (uint32_t)pid, name};
    }
    if (count > 0)
        qsort(now, count, sizeof *now, by_tid);
    clear(names->known, &names->known_count);
    free(names->known);
    names->known = now;
    names->known_count = count;
    names->known_capacity = capacity;
}

void names_end(struct names *names, pid_t pid, pid_t tid)
{
    free(look(names, pid, tid));
}

void names_told(struct names *names)
{
    clear(names->news, &names->news_count);
}
