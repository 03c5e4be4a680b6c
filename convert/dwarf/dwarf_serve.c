/* Questions to the debug information of a file: the confined side that answers.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
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

/* Memory of the worker: measured needs are under 3 times the sections (all units decoded), which compression shrinks to
 * a fifth. It depends on the size of the file, since sizes in a file may lie, and sections may share bytes. */
#define MIN_MEMORY (UINT64_C(512) << 20)
enum { MEMORY_FACTOR = 16 };

struct server {
    struct dwarf_units units, alternate;
    struct strings *strings; /* of both */
    uint32_t *numbers;       /* of our strings in the answers; 0: not sent yet */
    size_t number_capacity;
    uint32_t sent;
    struct buffer new_strings, frames;
    uint32_t new_count;
    struct dwarf_frame before[MAX_FRAMES]; /* frames of the address before */
    size_t before_count;
};

static void receive(void *to, size_t size)
{
    if (!read_all(STDIN_FILENO, to, size))
        _exit(0); /* the parent has closed the socket */
}

static void reply(const uint8_t *data, size_t size)
{
    if (!write_all(STDIN_FILENO, data, size))
        _exit(0);
}

/* The number of string OURS in answers; sends it with this answer when it is new. */
static uint32_t sent_number(struct server *s, uint32_t ours)
{
    if (ours == 0)
        return 0;
    size_t before = s->number_capacity;
    mem_reserve(&s->numbers, &s->number_capacity, (size_t)ours + 1, sizeof *s->numbers);
    memset(s->numbers + before, 0, (s->number_capacity - before) * sizeof *s->numbers);
    if (s->numbers[ours] == 0) {
        s->numbers[ours] = ++s->sent;
        s->new_count++;
        buffer_string(&s->new_strings, strings_get(s->strings, ours));
    }
    return s->numbers[ours];
}

static void answer_address(struct server *s, uint64_t address, bool is_first)
{
    struct dwarf_frame frames[MAX_FRAMES];
    size_t count = dwarf_units_frames(&s->units, address, frames);
    if (!is_first && count == s->before_count &&
        memcmp(frames, s->before, count * sizeof *frames) == 0) {
        buffer_u8(&s->frames, SAME_FRAMES);
        return;
    }
    memcpy(s->before, frames, count * sizeof *frames);
    s->before_count = count;
    buffer_u8(&s->frames, (uint8_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(&s->frames, sent_number(s, frames[i].function));
        buffer_u32(&s->frames, sent_number(s, frames[i].file));
        buffer_u32(&s->frames, frames[i].line);
        buffer_u32(&s->frames, sent_number(s, frames[i].checksum));
        buffer_u32(&s->frames, frames[i].discriminator);
    }
}

static void answer_question(struct server *s)
{
    uint8_t raw[8 * MAX_QUESTION];
    struct buffer head = {0};
    receive(raw, 4);
    uint32_t count = get_u32(raw, false);
    if (count > MAX_QUESTION)
        _exit(1);
    receive(raw, 8 * (size_t)count);
    s->frames.size = s->new_strings.size = s->new_count = 0;
    for (uint32_t i = 0; i < count; i++)
        answer_address(s, get_u64(raw + 8 * (size_t)i, false), i == 0);
    buffer_u32(&head, (uint32_t)(8 + s->new_strings.size + s->frames.size));
    buffer_u32(&head, s->units.damaged + s->alternate.damaged);
    buffer_u32(&head, s->new_count);
    reply(head.data, head.size);
    reply(s->new_strings.data, s->new_strings.size);
    reply(s->frames.data, s->frames.size);
    buffer_free(&head);
}

/* ---- files with split debug information ---- */

/* Receives the size of a file, and its descriptor in *FD; -1: none. */
static uint64_t receive_file(int *fd)
{
    uint8_t raw[8];
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
        got = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof raw)
        _exit(0);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return get_u64(raw, false);
}

/* Impossible paths are not requested. */
static struct dwarf_sections *open_split(void *context, const char *folder, const char *name)
{
    (void)context;
    struct buffer text = {0}, head = {0};
    struct error ignored = {0};
    int fd;
    if (strlen(folder) >= PATH_MAX || strlen(name) >= PATH_MAX)
        return NULL;
    buffer_string(&text, folder);
    buffer_string(&text, name);
    buffer_u32(&head, FILE_WANTED);
    buffer_u32(&head, (uint32_t)text.size);
    reply(head.data, head.size);
    reply(text.data, text.size);
    buffer_free(&text);
    buffer_free(&head);
    uint64_t size = receive_file(&fd);
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
    (void)context;
    struct buffer head = {0};
    buffer_u32(&head, FILE_REFUSED);
    reply(head.data, head.size);
    buffer_free(&head);
}

/* ---- */

/* The units of FILE, not loaded yet. */
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

/* Files are mapped, not read: if one shrinks meanwhile, this process dies, as it may. */
_Noreturn void dwarf_worker_serve(int socket, int parent, const struct dwarf_files *files)
{
    struct server *s = mem_zalloc(1, sizeof *s);
    const uint64_t size = dwarf_files_size(files);
    s->strings = strings_new();
    prepare(&s->units, files->debug, s, files->image);
    s->units.symbols = files->symbols;
    if (files->alternate != NULL) {
        prepare(&s->alternate, files->alternate, s, files->image);
        s->units.alternate = &s->alternate;
    }
    if (files->open_split != NULL)
        s->units.split = (struct split_files){.open = open_split, .refuse = refuse_split};
    if (files->package != NULL && elf_file_map(files->package))
        s->units.split.package = dwarf_sections_new(files->package, true);
    if (!dwarf_sandbox_limit(socket, parent, MIN_MEMORY + MEMORY_FACTOR * size,
                             dwarf_worker_seconds(size)))
        _exit(1);
    struct dwarf_unpacker *unpacker = dwarf_unpacker_start(s->units.sections);
    if (!dwarf_sandbox_enter())
        _exit(1);
    dwarf_unpacker_run(unpacker);
    dwarf_units_load(&s->units);
    for (;;)
        answer_question(s);
}
