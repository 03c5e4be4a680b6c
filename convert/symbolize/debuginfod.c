/* Debug files from servers.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/progress.h"
#include "formats/elf/elf_match.h"

#define LIBRARY "libdebuginfod.so.1"

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
static const char lost[] = "names and lines in binaries without debug information may be missing "
                           "(--no-debuginfod turns downloads off)";

struct debuginfod_client; /* of the library */
typedef int progress_function(struct debuginfod_client *, long, long);

struct debuginfod {
    struct reporter *reporter;
    struct debuginfod_client *client; /* NULL: not loaded yet */
    bool failed;
    /* functions of the library, as documented in debuginfod_find_debuginfo(3) */
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *);
    int (*find)(struct debuginfod_client *, const unsigned char *, int, char **);
    void (*set_progress)(struct debuginfod_client *, progress_function *);
    void (*set_data)(struct debuginfod_client *, void *);
};

bool debuginfod_is_set(void)
{
    const char *urls = secure_getenv("DEBUGINFOD_URLS");
    return urls != NULL && urls[strspn(urls, " ")] != '\0';
}

struct debuginfod *debuginfod_new(struct reporter *reporter)
{
    if (!debuginfod_is_set())
        return NULL;
    struct debuginfod *d = mem_zalloc(1, sizeof *d);
    d->reporter = reporter;
    return d;
}

void debuginfod_delete(struct debuginfod *d)
{
    if (d != NULL && d->client != NULL)
        d->end(d->client); /* the library stays loaded: its dependencies may have started threads */
    free(d);
}

/* Gives the only warning. */
static void fail(struct debuginfod *d, const char *why)
{
    report_warning(d->reporter, "debuginfod: %s: %s", why, lost);
    d->failed = true;
}

static bool find_function(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool load(struct debuginfod *d)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !find_function(library, "debuginfod_begin", &d->begin) ||
        !find_function(library, "debuginfod_end", &d->end) ||
        !find_function(library, "debuginfod_find_debuginfo", &d->find) ||
        !find_function(library, "debuginfod_set_progressfn", &d->set_progress) ||
        !find_function(library, "debuginfod_set_user_data", &d->set_data)) {
        const char *why = dlerror();
        fail(d, why != NULL ? why : LIBRARY);
        return false;
    }
    setenv("DEBUGINFOD_RETRY_LIMIT", "0",
           0); /* a server that hangs takes DEBUGINFOD_TIMEOUT once, not three times */
    d->client = d->begin();
    if (d->client == NULL)
        fail(d, "cannot start");
    return d->client != NULL;
}

/* Lists the signals that would end the program. Ignored signals stay ignored. */
static void list_fatal(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        struct sigaction action;
        if (sigaction(fatal[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, fatal[i]);
    }
}

/* Returns whether one of these signals has arrived. They are blocked during a download. */
static bool is_ending(void)
{
    sigset_t pending;
    bool found = false;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        found |= sigismember(&pending, fatal[i]) == 1;
    return found;
}

/* The library calls this about once a second, with the number of bytes DONE if it knows the SIZE.
 * Returns whether to stop. The only other argument is CLIENT, whose user data only a function of
 * the library can read. That function has to be found at each call. */
static int show_progress(struct debuginfod_client *client, long done, long size)
{
    void *(*get_data)(struct debuginfod_client *) = NULL;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL && find_function(library, "debuginfod_get_user_data", &get_data)) {
        struct progress *p = get_data(client);
        p->total = size > 0 ? (uint64_t)size : 0;
        if (p->next != UINT64_MAX)
            progress_show(p, size > 0 && done > 0 ? (uint64_t)done : 0);
    }
    if (library != NULL)
        dlclose(library);
    return is_ending();
}

/* Returns the file's descriptor, or a negative errno. Caller frees *PATH. */
static int download(struct debuginfod *d, const char *build_id, const char *name, char **path)
{
    sigset_t ending, before;
    struct progress progress;
    char *title = mem_printf("debug information for %s: ", name);
    list_fatal(&ending);
    sigprocmask(SIG_BLOCK, &ending, &before);
    progress_start(&progress, d->reporter, 0, "bytes");
    progress.title = title;
    d->set_data(d->client, &progress);
    d->set_progress(d->client, show_progress);
    int fd = d->find(d->client, (const unsigned char *)build_id, 0, path); /* 0: hexadecimal */
    progress_end(&progress);
    sigprocmask(SIG_SETMASK, &before, NULL); /* a signal that arrived meanwhile ends the program */
    free(title);
    return fd;
}

struct elf_file *debuginfod_find(struct debuginfod *d, const char *build_id, const char *name)
{
    struct error err = {0};
    char *path = NULL;
    if (d == NULL || d->failed || build_id[0] == '\0' || (d->client == NULL && !load(d)))
        return NULL;
    int fd = download(d, build_id, name, &path);
    if (fd == -ENOENT)
        report_verbose(d->reporter, "debuginfod: no server has debug information for %s", name);
    else if (fd < 0)
        fail(d, strerror(-fd));
    struct elf_file *file =
        fd >= 0 ? elf_file_from_descriptor(fd, path != NULL ? path : name, &err) : NULL;
    if (file != NULL && !elf_has_build_id(file, build_id)) {
        error_set(&err, file->path, NO_OFFSET, "not the debug file with build-id %s", build_id);
        elf_file_close(file);
        file = NULL;
    }
    if (err.text[0] != '\0')
        report_warning(d->reporter, "debuginfod: %s: %s: %s", err.file, err.text, lost);
    free(path);
    return file;
}
