/* Answers of a DWARF worker that was taken over: the input is what it sends.
 * SPDX-License-Identifier: MIT */
#include <sys/socket.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): the worker is private to it, and here there is none */
#include "convert/dwarf/dwarf_worker.c"
#include "tests/fuzz/input.h"

enum { MOST = 64 * 1024, QUESTIONS = 3, ADDRESSES = 5 };

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

/* The worker may ask for files with split debug information. It gets its own, if the name begins with A. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t addresses[ADDRESSES] = {1, 2, 3, 0x1000, UINT64_MAX};
    struct error err = {0};
    struct dwarf_answer answer = {0};
    int pair[2];
    if (size > MOST || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 0;
    if (write(pair[1], data, size) != (ssize_t)size || shutdown(pair[1], SHUT_WR) != 0)
        abort();
    struct strings *strings = strings_new();
    struct dwarf_worker *w = mem_zalloc(1, sizeof *w);
    w->socket = pair[0];
    w->timeout = 1;
    w->path = mem_strdup("input");
    w->files.open_split = open_split;
    w->files.refuse_split = refuse_split;
    mem_reserve(&w->numbers, &w->number_capacity, 1, sizeof *w->numbers);
    w->numbers[w->number_count++] = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        if (dwarf_worker_ask(w, addresses, ADDRESSES, strings, &answer, &err) != 0)
            break;
        touch(strings, &answer);
    }
    dwarf_answer_free(&answer);
    dwarf_worker_delete(w);
    strings_delete(strings);
    close(pair[1]);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (size > 4 && seed % 4 != 0 && data[3] != 0xff) { /* a good size reaches the code after it */
        uint32_t length = (uint32_t)size - 4;
        memcpy(data, &length, sizeof length);
    }
    return size;
}
