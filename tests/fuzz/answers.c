/* Answers of a compromised DWARF worker: the input is sent in its place. If the last byte is
 * MAX_PARTS, the second half is sent by the other part.
 * SPDX-License-Identifier: MIT */
#include <sys/socket.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): its worker is private, and is not started here */
#include "convert/dwarf/dwarf_worker.c"
#include "tests/fuzz/input.h"

enum { MAX_ANSWERS = 64 * 1024, QUESTIONS = 3, ADDRESSES = 5 };

static void touch(const struct strings *strings, const struct dwarf_answer *answer)
{
    for (size_t i = 0; i < ADDRESSES; i++)
        for (size_t f = 0; f < answer->count[i]; f++) {
            const struct dwarf_frame *frame = &answer->frames[answer->first[i] + f];
            const char *name = strings_get(strings, frame->function);
            input_touch(name, strlen(name));
            name = strings_get(strings, frame->file);
            input_touch(name, strlen(name));
        }
}

/* The worker may ask for files with split debug information. It gets this program if the name
 * begins with 'a', else no file. */
static struct elf_file *open_split(void *context, const char *folder, const char *name)
{
    struct error ignored = {0};
    int errnum;
    (void)context;
    input_touch(folder, strlen(folder) + 1);
    return name[0] == 'a' ? elf_file_open("/proc/self/exe", &errnum, &ignored) : NULL;
}

static void refuse_split(void *context)
{
    (void)context;
}

static unsigned part_count(const uint8_t *data, size_t size)
{
    return size > 0 && data[size - 1] == MAX_PARTS ? MAX_PARTS : 1;
}

/* The bytes that PART sends; *COUNT becomes their number. */
static const uint8_t *sent_by(unsigned part, const uint8_t *data, size_t size, size_t *count)
{
    const size_t half = size / part_count(data, size);
    *count = part == 0 ? half : size - half;
    return part == 0 ? data : data + half;
}

static struct dwarf_worker *new_worker(const uint8_t *data, size_t size, int others[MAX_PARTS])
{
    struct dwarf_worker *w = mem_zalloc(1, sizeof *w);
    w->timeout = 1;
    w->path = mem_strdup("input");
    w->files.open_split = open_split;
    w->files.refuse_split = refuse_split;
    for (unsigned i = 0; i < part_count(data, size); i++) {
        size_t count;
        const uint8_t *bytes = sent_by(i, data, size, &count);
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
            write(pair[1], bytes, count) != (ssize_t)count || shutdown(pair[1], SHUT_WR) != 0)
            abort();
        w->parts[w->part_count++].socket = pair[0];
        others[i] = pair[1];
    }
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t addresses[ADDRESSES] = {1, 2, 3, 0x1000, UINT64_MAX};
    struct error err = {0};
    struct dwarf_answer answer = {0};
    int others[MAX_PARTS] = {-1, -1};
    if (size > MAX_ANSWERS)
        return 0;
    struct strings *strings = strings_new();
    struct dwarf_worker *w = new_worker(data, size, others);
    for (int i = 0; i < QUESTIONS; i++) {
        dwarf_worker_announce(w, addresses, ADDRESSES);
        dwarf_worker_complete(w, &(uint8_t){0}, ADDRESSES);
        if (dwarf_worker_ask(w, ADDRESSES, strings, &answer, &err) != 0)
            break;
        touch(strings, &answer);
    }
    dwarf_answer_free(&answer);
    for (unsigned i = 0; i < w->part_count; i++)
        close(others[i]);
    dwarf_worker_delete(w);
    strings_delete(strings);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    for (unsigned i = 0; seed % 4 != 0 && i < part_count(data, size); i++) {
        size_t count;
        uint8_t *bytes = (uint8_t *)sent_by(i, data, size, &count);
        uint32_t length = (uint32_t)count - 4;
        if (count > 4 && bytes[3] != 0xff) /* a valid size reaches the code after the check */
            memcpy(bytes, &length, sizeof length);
    }
    return size;
}
