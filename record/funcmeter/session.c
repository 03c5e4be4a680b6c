/* The counters of a metered program, and the thread that answers its preload library.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "record/clock.h"
#include "record/funcmeter/ticks.h"

enum { CALIBRATION_NS = 20 * 1000 * 1000, TIMEOUT_S = 10 };

enum variable { COUNTERS, PRELOAD, SANITIZER, VARIABLES };
static const char *const variables[VARIABLES] = {METER_ENVIRONMENT, "LD_PRELOAD", "ASAN_OPTIONS"};

struct session {
    struct planner *planner;
    int file, socket;
    char name[48]; /* of the socket */
    uint8_t *memory;
    struct meter_header *header;
    pthread_t thread;
    bool running;
    char *before[VARIABLES]; /* previous values of the environment variables; NULL: not set */
    uint64_t start_ticks, start_ns, end_ticks, end_ns;
};

/* ---- the clock ---- */

/* Reads both clocks at almost the same moment: the closest of several attempts. */
static void read_clocks(uint64_t *ticks, uint64_t *ns)
{
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = ticks_now(), now = clock_now(), after = ticks_now();
        if (after - before < closest) {
            closest = after - before;
            *ticks = before + closest / 2;
            *ns = now;
        }
    }
}

static double tick_between(uint64_t ticks, uint64_t ns)
{
    return ticks > 0 ? (double)ns / (double)ticks : 1;
}

/* SHORTEST is in ns. */
static void start_clock(struct session *s, uint64_t shortest)
{
    double tick = 1;
    read_clocks(&s->start_ticks, &s->start_ns);
    if (s->header->tsc) {
        const struct timespec pause = clock_timespec(CALIBRATION_NS);
        uint64_t ticks = 0, ns = 0;
        nanosleep(&pause, NULL);
        read_clocks(&ticks, &ns);
        tick = tick_between(ticks - s->start_ticks, ns - s->start_ns);
    }
    s->header->units_per_tick = (uint64_t)(tick * (1 << LOG_UNIT_SHIFT) * 4294967296.0);
    s->header->shortest = (uint64_t)((double)shortest / tick);
}

/* ---- requests ---- */

static bool transfer(int fd, uint8_t *data, size_t size, bool out)
{
    while (size > 0) {
        ssize_t done = out ? send(fd, data, size, MSG_NOSIGNAL) : recv(fd, data, size, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

/* Returns whether the program has the same user as funcmeter, or funcmeter is root: others are not
 * answered. */
static bool is_friend(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || geteuid() == 0);
}

static void answer(struct session *s, int fd)
{
    struct meter_request request;
    uint64_t returned[METER_MAX_RESOLVERS];
    struct buffer reply = {0};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (!is_friend(fd) || !transfer(fd, (uint8_t *)&request, sizeof request, false) ||
        request.magic != METER_MAGIC || memchr(request.path, '\0', sizeof request.path) == NULL ||
        request.resolved > METER_MAX_RESOLVERS ||
        !transfer(fd, (uint8_t *)returned, request.resolved * sizeof *returned, false))
        return;
    planner_answer(s->planner, &request, returned, &reply);
    planner_functions(s->planner, &s->header->functions);
    transfer(fd, reply.data, reply.size, true);
    buffer_free(&reply);
}

static void *serve(void *opaque)
{
    struct session *s = opaque;
    for (;;) {
        int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return NULL; /* the socket was shut down */
        answer(s, fd);
        close(fd);
    }
}

/* ---- start and end ---- */

static int make_file(struct session *s, const struct session_options *options, struct error *err)
{
    s->file = memfd_create("funcmeter", MFD_CLOEXEC);
    if (s->file < 0 || ftruncate(s->file, (off_t)METER_FILE_SIZE) != 0)
        return error_set_errno(err, NULL, errno, "cannot make the counters");
    void *memory =
        mmap(NULL, METER_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->file, 0);
    if (memory == MAP_FAILED)
        return error_set_errno(err, NULL, errno, "cannot map the counters");
    madvise(memory, METER_FILE_SIZE, MADV_DONTDUMP);
    s->memory = memory;
    s->header = memory;
    *s->header = (struct meter_header){
        .magic = METER_MAGIC,
        .timing = options->timing,
        .tsc = !options->monotonic && !options->cpu_time && ticks_are_constant(),
        .clock = options->cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
        .listing = options->listing,
        .callers = options->callers,
        .machine = METER_MACHINE,
        .histograms = METER_BLOCKS_AT + (uint64_t)METER_MAX_THREADS * sizeof(struct meter_block),
        .end = METER_INTERVALS_AT,
    };
    s->header->next_histogram = s->header->histograms;
    return 0;
}

static int make_socket(struct session *s, struct error *err)
{
    uint64_t random = 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = clock_now();
    int length = snprintf(s->name, sizeof s->name, "funcmeter-%d-%016llx", (int)getpid(),
                          (unsigned long long)random);
    memcpy(address.sun_path + 1, s->name, (size_t)length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&address, size) != 0 ||
        listen(s->socket, SOMAXCONN) != 0)
        return error_set_errno(err, NULL, errno, "cannot make a socket");
    return 0;
}

struct session *session_new(struct planner *planner, const struct session_options *options,
                            struct error *err)
{
    struct session *s = mem_zalloc(1, sizeof *s);
    s->planner = planner;
    s->file = s->socket = -1;
    if (make_file(s, options, err) == 0 && make_socket(s, err) == 0) {
        start_clock(s, options->shortest);
        s->running = thread_start(&s->thread, serve, s);
        if (s->running)
            return s;
        error_set(err, NULL, NO_OFFSET, "cannot start a thread");
    }
    session_delete(s);
    return NULL;
}

/* Sets variable NUMBER, and remembers its previous value. Returns 0, or -1 with errno set. */
static int set_variable(struct session *s, enum variable number, const char *value)
{
    const char *before = getenv(variables[number]);
    if (before != NULL && s->before[number] == NULL)
        s->before[number] = mem_strdup(before);
    return setenv(variables[number], value, 1);
}

/* Lets the run-time library of AddressSanitizer be loaded after ours, which does not replace any of
 * its functions. */
static int set_sanitizer(struct session *s)
{
    static const char option[] = "verify_asan_link_order=0";
    const char *before = getenv(variables[SANITIZER]);
    char *value = before != NULL && before[0] != '\0' ? mem_printf("%s:%s", before, option)
                                                      : mem_strdup(option);
    int result = set_variable(s, SANITIZER, value);
    free(value);
    return result;
}

int session_export(struct session *s, const char *library, struct error *err)
{
    const char *before = getenv(variables[PRELOAD]);
    char *value = mem_printf("%d %d %s", (int)getpid(), s->file, s->name);
    char *preload = before != NULL && before[0] != '\0' ? mem_printf("%s:%s", library, before)
                                                        : mem_strdup(library);
    int result = 0;
    if (set_variable(s, COUNTERS, value) != 0 || set_variable(s, PRELOAD, preload) != 0 ||
        set_sanitizer(s) != 0)
        result = error_set_errno(err, NULL, errno, "cannot set the environment");
    free(value);
    free(preload);
    return result;
}

void session_unexport(const struct session *s)
{
    for (int i = 0; i < VARIABLES; i++)
        if (s->before[i] != NULL)
            setenv(variables[i], s->before[i], 1);
        else
            unsetenv(variables[i]);
}

void session_stop(struct session *s)
{
    if (!s->running)
        return;
    shutdown(s->socket, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    s->running = false;
    read_clocks(&s->end_ticks, &s->end_ns);
}

void session_delete(struct session *s)
{
    if (s == NULL)
        return;
    session_stop(s);
    if (s->memory != NULL)
        munmap(s->memory, METER_FILE_SIZE);
    if (s->socket >= 0)
        close(s->socket);
    if (s->file >= 0)
        close(s->file);
    for (int i = 0; i < VARIABLES; i++)
        free(s->before[i]);
    free(s);
}

const struct meter_header *session_header(const struct session *s)
{
    return s->header;
}

uint32_t session_block_count(const struct session *s)
{
    uint32_t count = s->header->next_thread;
    return count < METER_MAX_THREADS ? count : METER_MAX_THREADS;
}

const struct meter_block *session_block(const struct session *s, uint32_t number)
{
    return (const struct meter_block *)(s->memory + METER_BLOCKS_AT) + number;
}

uint32_t session_next_record(const struct session *s, uint32_t number, uint32_t function)
{
    const struct meter_block *block = session_block(s, number);
    off_t at = (const uint8_t *)&block->records[function] - s->memory;
    if (function >= METER_MAX_FUNCTIONS || at % METER_PAGE != 0)
        return function;
    off_t data = lseek(s->file, at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? METER_MAX_FUNCTIONS : function;
    uint64_t next = function + (uint64_t)(data - at) / sizeof(struct meter_record);
    return next < METER_MAX_FUNCTIONS ? (uint32_t)next : METER_MAX_FUNCTIONS;
}

/* Returns the data of a thread in SIZE bytes of the file at AT, a place that comes from its memory;
 * NULL: the file has no such bytes. */
static const void *memory_at(const struct session *s, uint64_t at, uint64_t size)
{
    bool inside = at >= s->header->histograms && at <= METER_FILE_SIZE - size;
    return inside && at % sizeof(uint64_t) == 0 ? s->memory + at : NULL;
}

const uint64_t *session_histogram(const struct session *s, const struct meter_record *record)
{
    return memory_at(s, record->histogram, LOG_BUCKETS * sizeof(uint64_t));
}

const struct meter_arc *session_arcs(const struct session *s, uint32_t number)
{
    return memory_at(s, session_block(s, number)->thread.arcs,
                     METER_MAX_ARCS * sizeof(struct meter_arc));
}

uint64_t session_interval_count(const struct session *s)
{
    uint64_t count = s->header->next_interval;
    return count < METER_MAX_INTERVALS ? count : METER_MAX_INTERVALS;
}

const struct meter_interval *session_interval(const struct session *s, uint64_t number)
{
    const struct meter_interval *all =
        (const struct meter_interval *)(s->memory + METER_INTERVALS_AT);
    return all[number].ready == 1 ? &all[number] : NULL;
}

double session_time(const struct session *s, uint64_t ticks)
{
    double since = (double)(int64_t)(ticks - (s->header->tsc ? s->start_ticks : s->start_ns));
    return (double)s->start_ns + since * session_tick(s);
}

uint64_t session_wall(const struct session *s)
{
    return s->end_ns - s->start_ns;
}

double session_tick(const struct session *s)
{
    return s->header->tsc ? tick_between(s->end_ticks - s->start_ticks, s->end_ns - s->start_ns)
                          : 1;
}
