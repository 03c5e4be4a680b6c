/* Names of threads.
 * SPDX-License-Identifier: MIT */
#include "record/names.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

static void forget(struct named_thread **link)
{
    struct named_thread *thread = *link;
    *link = thread->chain;
    free(thread->name);
    free(thread);
}

static void clear_news(struct names *names)
{
    for (size_t i = 0; i < names->news_count; i++)
        free(names->news[i].name);
    names->news_count = 0;
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < NAMES_BUCKETS; i++)
        while (names->threads[i] != NULL)
            forget(&names->threads[i]);
    clear_news(names);
    free(names->news);
    *names = (struct names){0};
}

/* Returns the name, which the caller frees; NULL if the thread has ended. */
static char *read_name(uint32_t pid, uint32_t tid)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    if (got > 0 && text[got - 1] == '\n')
        got--;
    return got > 0 ? mem_strndup(text, (size_t)got) : NULL;
}

static void add_news(struct names *names, uint32_t pid, uint32_t tid, uint64_t start,
                     const char *name)
{
    mem_reserve(&names->news, &names->news_capacity, names->news_count + 1, sizeof *names->news);
    names->news[names->news_count++] =
        (struct raw_task){.tid = tid, .pid = pid, .start = start, .name = mem_strdup(name)};
}

static struct named_thread **find(struct names *names, uint32_t tid)
{
    struct named_thread **link = &names->threads[tid % NAMES_BUCKETS];
    while (*link != NULL && (*link)->tid != tid)
        link = &(*link)->chain;
    return link;
}

void names_add(struct names *names, uint32_t pid, uint32_t tid, uint64_t start, const char *name)
{
    if (name != NULL) {
        add_news(names, pid, tid, start, name);
        return;
    }
    struct named_thread **link = find(names, tid), *thread;
    if (*link != NULL)
        forget(link);
    thread = mem_zalloc(1, sizeof *thread);
    *thread = (struct named_thread){.pid = pid, .tid = tid, .start = start};
    thread->chain = *link;
    *link = thread;
}

/* The first name is valid from the start of the thread, other names from the time at which they
 * were found. */
static void look(struct names *names, struct named_thread *thread, uint64_t time)
{
    char *name = read_name(thread->pid, thread->tid);
    if (name == NULL && thread->name == NULL)
        name = mem_strdup("");
    if (name == NULL || (thread->name != NULL && strcmp(thread->name, name) == 0)) {
        free(name);
        return;
    }
    add_news(names, thread->pid, thread->tid, thread->name == NULL ? thread->start : time, name);
    free(thread->name);
    thread->name = name;
}

void names_look(struct names *names, uint64_t time)
{
    for (size_t i = 0; i < NAMES_BUCKETS; i++)
        for (struct named_thread *thread = names->threads[i]; thread != NULL;
             thread = thread->chain)
            look(names, thread, time);
}

void names_end(struct names *names, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct named_thread **link = find(names, tid);
    if (*link == NULL || (*link)->pid != pid)
        return;
    look(names, *link, time);
    forget(link);
}

void names_put(struct names *names, struct buffer *buffer)
{
    for (size_t i = 0; i < names->news_count; i += NAMES_MANY) {
        size_t left = names->news_count - i;
        raw_put_tasks(buffer, names->news + i, left < NAMES_MANY ? left : NAMES_MANY);
    }
    clear_news(names);
}
