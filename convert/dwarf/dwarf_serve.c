/* Answers questions about the debug information of a file: the confined side.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/transfer.h"
#include "convert/dwarf/dwarf_sandbox.h"
#include "convert/dwarf/dwarf_sections.h"
#include "convert/dwarf/dwarf_units.h"
#include "convert/dwarf/dwarf_worker.h"
#include "formats/elf/elf_plt.h"

/* Memory limit of the worker, as a multiple of the size of the file. Measured needs are below 3
 * times the size of the sections (all units decoded), which compression shrinks to a fifth. The
 * size of the file counts, because sizes in a file may be wrong, and sections may share bytes. */
#define MIN_MEMORY (UINT64_C(512) << 20)
enum { MEMORY_FACTOR = 16 };

/* How much of the units has been read. */
enum extent { NOTHING, PART, WHOLE };

/* A part of the worker: what one thread uses. */
struct server {
    int socket;
    enum extent extent; /* of UNITS, the same in all servers when they receive a question */
    bool is_other;      /* the second of two */
    uint8_t *owners;    /* [by unit] number of the server that decodes it, shared; 0: none yet */
    struct dwarf_units units, alternate;
    struct strings *strings; /* of both */
    uint32_t *numbers;       /* of our strings in the answers; 0: not sent yet */
    size_t number_count, number_capacity;
    uint32_t sent;
    struct buffer new_strings, frames;
    uint32_t new_count;
    struct dwarf_frame before[MAX_FRAMES]; /* frames of the previous address */
    size_t before_count;
    bool has_before;
    struct buffer waiting; /* questions that arrived before a file */
    size_t taken;          /* of WAITING */
    /* the question: */
    uint64_t addresses[MAX_QUESTION];
    uint32_t count;
    uint8_t between[BETWEEN_SIZE(MAX_QUESTION)]; /* a bit for each */
    bool incomplete;                             /* BETWEEN has not been received */
    bool found;                                  /* the units read so far sufficed for the answer */
};

struct crew {
    struct server servers[MAX_PARTS];
    bool together;   /* there are two threads */
    unsigned chosen; /* how often units were read for a later question */
    sem_t started, confined, limited, unpacked, loaded;
    pthread_barrier_t answered;
};

static void receive(struct server *s, void *to, size_t size)
{
    if (s->taken < s->waiting.size) { /* whole questions */
        memcpy(to, s->waiting.data + s->taken, size);
        s->taken += size;
    } else if (!read_all(s->socket, to, size))
        _exit(0); /* the parent has closed the socket */
}

static void reply(const struct server *s, const uint8_t *data, size_t size)
{
    if (!write_all(s->socket, data, size))
        _exit(0);
}

/* Returns the number of string OURS in answers; sends the string with this answer if it is new. */
static uint32_t sent_number(struct server *s, uint32_t ours)
{
    if (ours == 0)
        return 0;
    mem_extend(&s->numbers, &s->number_count, &s->number_capacity, (size_t)ours + 1,
               sizeof *s->numbers);
    if (s->numbers[ours] == 0) {
        s->numbers[ours] = ++s->sent;
        s->new_count++;
        buffer_string(&s->new_strings, strings_get(s->strings, ours));
    }
    return s->numbers[ours];
}

static void answer_address(struct server *s, uint32_t unit, uint32_t index)
{
    struct dwarf_frame frames[MAX_FRAMES];
    const bool between = s->between[index / 8] >> index % 8 & 1;
    size_t count = 0;
    if (unit != INTERVAL_NONE)
        count = dwarf_unit_frames(&s->units, unit, s->addresses[index], between, frames);
    if (s->has_before && count == s->before_count &&
        memcmp(frames, s->before, count * sizeof *frames) == 0) {
        buffer_u8(&s->frames, SAME_FRAMES);
        return;
    }
    memcpy(s->before, frames, count * sizeof *frames);
    s->before_count = count;
    s->has_before = true;
    buffer_u8(&s->frames, (uint8_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(&s->frames, sent_number(s, frames[i].function));
        buffer_u32(&s->frames, sent_number(s, frames[i].file));
        buffer_u32(&s->frames, frames[i].line);
        buffer_u32(&s->frames, sent_number(s, frames[i].checksum));
        buffer_u32(&s->frames, frames[i].discriminator);
    }
}

/* Returns whether S answers for UNIT: the first server that asks does, and decodes it. */
static bool is_mine(struct server *s, uint32_t unit)
{
    const uint8_t me = s->is_other ? 2 : 1;
    uint8_t owner = 0;
    if (unit == INTERVAL_NONE || s->owners == NULL)
        return !s->is_other;
    if (!__atomic_compare_exchange_n(&s->owners[unit], &owner, me, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return owner == me;
    dwarf_units_decode(&s->units, &s->units.units[unit]);
    return true;
}

static void receive_question(struct server *s)
{
    uint8_t raw[8 * MAX_QUESTION];
    receive(s, raw, 4);
    s->count = get_u32(raw, false);
    if (s->count > MAX_QUESTION)
        _exit(1);
    receive(s, raw, 8 * (size_t)s->count);
    for (uint32_t i = 0; i < s->count; i++)
        s->addresses[i] = get_u64(raw + 8 * (size_t)i, false);
    s->incomplete = true;
}

/* Receives the rest of a question, which comes later: meanwhile, sections are unpacked. */
static void complete_question(struct server *s)
{
    if (s->incomplete)
        receive(s, s->between, BETWEEN_SIZE(s->count));
    s->incomplete = false;
}

/* The two servers begin at opposite ends, so that they meet when each has done half of the work.
 * Returns false if the units read so far do not suffice for an answer. */
static bool find_answer(struct server *s)
{
    uint32_t units[MAX_QUESTION] = {0};
    bool mine[MAX_QUESTION] = {0}, found = true;
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t i = s->is_other ? s->count - 1 - k : k;
        units[i] = dwarf_units_index(&s->units, s->addresses[i]);
        mine[i] = is_mine(s, units[i]);
        found &= units[i] != INTERVAL_NONE || elf_plt_has(s->units.image, s->addresses[i]);
    }
    complete_question(s);
    s->frames.size = 0;
    s->has_before = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (mine[i])
            answer_address(s, units[i], i);
        else
            buffer_u8(&s->frames, NOT_MINE);
        /* addresses ascend: the next question rarely has this unit */
        const bool goes_on = i + 1 < s->count && units[i + 1] == units[i];
        if (mine[i] && units[i] != INTERVAL_NONE && !goes_on)
            dwarf_unit_rest(&s->units, units[i]);
    }
    return s->extent == WHOLE || (found && !s->units.beyond && s->units.damaged == 0);
}

/* Forgets the strings of an answer that is not sent: the parent does not accept later references to
 * strings that an answer contained, but did not use. */
static void forget_answer(struct server *s)
{
    s->sent -= s->new_count;
    for (size_t i = 0; i < s->number_count; i++)
        if (s->numbers[i] > s->sent)
            s->numbers[i] = 0;
    s->new_strings.size = s->new_count = 0;
}

static void send_answer(struct server *s)
{
    struct buffer head = {0};
    buffer_u32(&head, (uint32_t)(8 + s->new_strings.size + s->frames.size));
    buffer_u32(&head, s->units.damaged + s->alternate.damaged);
    buffer_u32(&head, s->new_count);
    reply(s, head.data, head.size);
    reply(s, s->new_strings.data, s->new_strings.size);
    reply(s, s->frames.data, s->frames.size);
    buffer_free(&head);
    s->new_strings.size = s->new_count = 0;
}

/* ---- files with split debug information ---- */

/* Receives a number, and in *FD the descriptor that comes with it, -1 for none. */
static uint32_t receive_number(const struct server *s, int *fd)
{
    uint8_t raw[4];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {raw, sizeof raw};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.space};
    ssize_t got;
    *fd = -1;
    do
        got = recvmsg(s->socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof raw)
        _exit(0);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return get_u32(raw, false);
}

/* Receives the size of a file, and in *FD its descriptor, -1 for none. Keeps questions that arrive
 * before it. */
static uint64_t receive_file(struct server *s, int *fd)
{
    uint8_t raw[8 * MAX_QUESTION + BETWEEN_SIZE(MAX_QUESTION)];
    complete_question(s);
    if (s->taken == s->waiting.size)
        s->waiting.size = s->taken = 0;
    for (;;) {
        const uint32_t count = receive_number(s, fd);
        if (count == FILE_WANTED)
            break;
        const size_t size = 8 * (size_t)count + BETWEEN_SIZE((size_t)count);
        if (count > MAX_QUESTION)
            _exit(1);
        if (!read_all(s->socket, raw, size))
            _exit(0);
        buffer_u32(&s->waiting, count);
        buffer_bytes(&s->waiting, raw, size);
    }
    if (!read_all(s->socket, raw, 8))
        _exit(0);
    return get_u64(raw, false);
}

/* Requests the file from the parent, unless its path is impossible. */
static struct dwarf_sections *open_split(void *context, const char *folder, const char *name)
{
    struct server *s = context;
    struct buffer text = {0}, head = {0};
    struct error ignored = {0};
    int fd;
    if (strlen(folder) >= PATH_MAX || strlen(name) >= PATH_MAX)
        return NULL;
    buffer_string(&text, folder);
    buffer_string(&text, name);
    buffer_u32(&head, FILE_WANTED);
    buffer_u32(&head, (uint32_t)text.size);
    reply(s, head.data, head.size);
    reply(s, text.data, text.size);
    buffer_free(&text);
    buffer_free(&head);
    uint64_t size = receive_file(s, &fd);
    if (fd < 0)
        return NULL;
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    struct elf_file *file =
        memory != MAP_FAILED ? elf_file_from_memory(memory, size, name, &ignored) : NULL;
    return file != NULL ? dwarf_sections_new(file, true) : NULL;
}

static void refuse_split(void *context)
{
    struct buffer head = {0};
    buffer_u32(&head, FILE_REFUSED);
    reply(context, head.data, head.size);
    buffer_free(&head);
}

/* ---- */

/* Prepares the units of FILE, which are not loaded yet. */
static void prepare(struct dwarf_units *units, struct elf_file *file, const struct server *s,
                    const struct elf_file *image)
{
    if (!elf_file_map(file))
        _exit(1);
    units->image = image;
    units->big_endian = file->big_endian;
    units->strings = s->strings;
    units->sections = dwarf_sections_new(file, false);
}

/* ---- two threads ---- */

static void wait_for(sem_t *event)
{
    while (sem_wait(event) != 0)
        ;
}

/* Split units stay with the first server, so that files are searched for in the same order in every
 * run. */
static uint8_t *new_owners(const struct dwarf_units *units)
{
    bool is_split = false;
    uint8_t *owners = mem_zalloc(units->count + 1, sizeof *owners);
    for (size_t i = 0; i < units->count; i++)
        is_split |= units->units[i].split.form != 0;
    memset(owners, is_split ? 1 : 0, units->count);
    return owners;
}

/* Unpacks the lines that will probably be needed: the same fraction of all as of .debug_info, and a
 * little more. */
static void guess_lines(struct dwarf_sections *sections)
{
    enum { MORE = 8, COMMON = 1 << 16 };
    const uint64_t all = dwarf_sections_size(sections, DEBUG_LINE);
    const double info = (double)dwarf_sections_size(sections, DEBUG_INFO);
    const double part = (double)dwarf_sections_wanted(sections, DEBUG_INFO) / info + 1.0 / MORE;
    dwarf_sections_limit(sections, DEBUG_LINE,
                         part < 1 ? (uint64_t)(part * (double)all) + COMMON : UINT64_MAX);
    dwarf_sections_unpack(sections, DEBUG_LINE, DEBUG_LINE);
}

/* Loads units. The first server unpacks the largest section, and the other one the rest. Units
 * decoded so far are forgotten. */
static void load_first(struct crew *c, struct dwarf_extent extent)
{
    struct server *first = &c->servers[0];
    struct dwarf_units *u = &first->units;
    *u = (struct dwarf_units){.sections = u->sections,
                              .split = u->split,
                              .alternate = u->alternate,
                              .image = u->image,
                              .strings = u->strings,
                              .big_endian = u->big_endian};
    dwarf_sections_limit(u->sections, DEBUG_INFO, extent.end);
    first->extent = extent.end == UINT64_MAX && extent.passed_count == 0 ? WHOLE : PART;
    if (c->together) {
        sem_post(&c->limited);
        dwarf_sections_unpack(u->sections, DEBUG_INFO, DEBUG_INFO);
        wait_for(&c->unpacked);
    } else /* loading decodes units without ranges, which may need any lines */
        dwarf_sections_limit(u->sections, DEBUG_LINE, UINT64_MAX);
    dwarf_units_load(u, &extent);
    free(extent.passed);
    if (!c->together) {
        dwarf_lines_unpack(u, first->extent == WHOLE);
        return;
    }
    first->owners = c->servers[1].owners = new_owners(u);
    sem_post(&c->loaded);
    wait_for(&c->unpacked); /* the copy is made: from now on, ours may change */
}

static void load_other(struct crew *c)
{
    struct server *first = &c->servers[0], *other = &c->servers[1];
    struct dwarf_sections *sections = first->units.sections;
    dwarf_sections_unpack(sections, DEBUG_ABBREV, DEBUG_ABBREV);
    dwarf_sections_unpack(sections, DEBUG_LINE + 1, DEBUG_SECTIONS - 1);
    wait_for(&c->limited);
    guess_lines(sections);
    sem_post(&c->unpacked);
    wait_for(&c->loaded);
    dwarf_lines_unpack(&first->units, first->extent == WHOLE);
    dwarf_units_copy(&other->units, &first->units, other->strings);
    other->units.split.context = other;
    other->extent = first->extent;
    sem_post(&c->unpacked);
}

/* Returns whether the units read so far sufficed for all servers, which have the same units
 * afterwards. */
static bool all_found(struct crew *c, struct server *s, bool found)
{
    if (!c->together || s->extent == WHOLE)
        return found;
    s->found = found;
    pthread_barrier_wait(&c->answered);
    found = c->servers[0].found && c->servers[1].found;
    pthread_barrier_wait(&c->answered);
    return found;
}

/* Chooses the units to read for a question. Many addresses are rarely in a few units, and small
 * sections are read in less time than it takes to choose. */
static struct dwarf_extent choose_extent(const struct server *s)
{
    enum { MAX_ADDRESSES = 512, MIN_SIZE = 1 << 19 };
    struct dwarf_extent extent = {.end = UINT64_MAX};
    const uint64_t all = dwarf_sections_size(s->units.sections, DEBUG_INFO);
    if (s->count > MAX_ADDRESSES || all < MIN_SIZE)
        return extent;
    extent = dwarf_aranges_extent(&s->units, s->addresses, s->count);
    if (extent.end > all / 8 * 7)
        extent.end = UINT64_MAX;
    return extent;
}

/* The same for a question for which the units read so far do not suffice. Chooses all units if
 * other choices might fail again: if the last units were chosen for the same question (FRESH), if
 * more of .debug_info must be unpacked, or if it happens often. */
static struct dwarf_extent choose_other(struct crew *c, struct server *s, bool fresh)
{
    enum { MAX_CHOICES = 4 };
    struct dwarf_extent extent = {.end = UINT64_MAX};
    if (fresh || ++c->chosen >= MAX_CHOICES)
        return extent;
    extent = choose_extent(s);
    const uint64_t have = dwarf_sections_get(s->units.sections, DEBUG_INFO).size;
    if (extent.end <= have || have == dwarf_sections_size(s->units.sections, DEBUG_INFO))
        return extent;
    free(extent.passed);
    return (struct dwarf_extent){.end = UINT64_MAX};
}

static void answer_question(struct crew *c, struct server *s)
{
    receive_question(s);
    bool fresh = s->extent == NOTHING;
    if (fresh)
        load_first(c, choose_extent(s));
    for (; !all_found(c, s, find_answer(s)); fresh = true) {
        forget_answer(s);
        if (s->is_other)
            load_other(c);
        else
            load_first(c, choose_other(c, s, fresh));
    }
    send_answer(s);
}

/* Answers for a server without a thread: leaves all addresses to the other server. */
static void answer_nothing(struct server *s)
{
    receive_question(s);
    complete_question(s);
    for (uint32_t i = 0; i < s->count; i++)
        buffer_u8(&s->frames, NOT_MINE);
    send_answer(s);
    s->frames.size = 0;
}

/* Never returns: ending a thread takes more system calls than the sandbox permits. */
static void *work(void *context)
{
    struct crew *c = context;
    sem_post(&c->started);
    wait_for(&c->confined);
    load_other(c);
    for (;;)
        answer_question(c, &c->servers[1]);
    return NULL; /* never */
}

/* Starts the other thread. Returns false if it cannot be created. Each thread has a separate
 * heap; without a limit for heaps, glibc would request the number of processors, and the sandbox
 * would end the process. */
static bool start_other(struct crew *c)
{
    enum { STACK = 1 << 20 };
    mallopt(M_ARENA_MAX, MAX_PARTS);
    pthread_attr_t attributes;
    pthread_t thread;
    sem_init(&c->started, 0, 0);
    sem_init(&c->confined, 0, 0);
    sem_init(&c->limited, 0, 0);
    sem_init(&c->unpacked, 0, 0);
    sem_init(&c->loaded, 0, 0);
    pthread_barrier_init(&c->answered, NULL, MAX_PARTS);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    bool started = pthread_create(&thread, &attributes, work, c) == 0;
    pthread_attr_destroy(&attributes);
    if (started)
        wait_for(&c->started);
    return started;
}

/* ---- */

/* Files are mapped, not read: if one shrinks meanwhile, only this process dies. */
_Noreturn void dwarf_worker_serve(const int *sockets, unsigned count, int parent,
                                  const struct dwarf_files *files)
{
    struct crew *c = mem_zalloc(1, sizeof *c);
    struct server *s = &c->servers[0];
    const uint64_t size = dwarf_files_size(files);
    for (unsigned i = 0; i < count; i++) {
        c->servers[i].strings = strings_new();
        c->servers[i].socket = i == 0 ? STDIN_FILENO : FIRST_OTHER_SOCKET;
        c->servers[i].is_other = i > 0;
    }
    prepare(&s->units, files->debug, s, files->image);
    if (files->alternate != NULL) {
        prepare(&s->alternate, files->alternate, s, files->image);
        s->units.alternate = &s->alternate;
    }
    if (files->open_split != NULL)
        s->units.split =
            (struct split_files){.open = open_split, .refuse = refuse_split, .context = s};
    if (files->package != NULL && elf_file_map(files->package))
        s->units.split.package = dwarf_sections_new(files->package, true);
    if (!dwarf_sandbox_limit(sockets, count, parent, MIN_MEMORY + MEMORY_FACTOR * size,
                             dwarf_worker_seconds(size)))
        _exit(1);
    c->together = count > 1 && start_other(c);
    if (!dwarf_sandbox_enter())
        _exit(1);
    dwarf_sections_reserve(s->units.sections);
    if (c->together)
        sem_post(&c->confined);
    for (;;) {
        answer_question(c, s);
        if (count > 1 && !c->together)
            answer_nothing(&c->servers[1]);
    }
}
