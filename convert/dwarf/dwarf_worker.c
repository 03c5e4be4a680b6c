/* Questions to the debug information of a file: the side that asks.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_worker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "formats/pbin/pbin.h"

/* A limit for all answers of one worker, because a hostile file could produce names and frames forever. */
enum { MAX_STRING_BYTES = 1 << 28, MAX_ALL_FRAMES = 1 << 24, MAX_SPLIT_FILES = 1 << 16 };

struct dwarf_worker {
    pid_t pid;
    int socket;
    unsigned timeout;  /* [s] */
    unsigned seconds;  /* of CPU time */
    char *path;        /* for messages */
    uint32_t *numbers; /* of its strings in ours */
    size_t number_count, number_capacity;
    uint64_t string_bytes, all_frames;
    struct dwarf_files files; /* for files that it asks for */
    uint32_t wanted;          /* how many it has asked for */
};

void dwarf_answer_free(struct dwarf_answer *answer)
{
    free(answer->frames);
    free(answer->first);
    free(answer->count);
    *answer = (struct dwarf_answer){0};
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct dwarf_worker *dwarf_worker_start(const struct dwarf_files *files, unsigned timeout,
                                        struct error *err)
{
    const struct elf_file *debug = files->debug;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set_errno(err, debug->path, errno, "cannot connect to a DWARF worker");
        return NULL;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        dwarf_worker_serve(pair[1], parent, files);
    int errnum = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        error_set_errno(err, debug->path, errnum, "cannot start a DWARF worker");
        return NULL;
    }
    struct dwarf_worker *w = mem_zalloc(1, sizeof *w);
    w->pid = pid;
    w->socket = pair[0];
    w->timeout = timeout > 0 ? timeout : 60;
    w->seconds = dwarf_worker_seconds(dwarf_files_size(files));
    w->path = mem_strdup(debug->path);
    w->files = *files;
    mem_reserve(&w->numbers, &w->number_capacity, 1, sizeof *w->numbers);
    w->numbers[w->number_count++] = 0;
    return w;
}

uint64_t dwarf_files_size(const struct dwarf_files *files)
{
    return files->debug->size + (files->alternate != NULL ? files->alternate->size : 0) +
           (files->package != NULL ? files->package->size : 0);
}

unsigned dwarf_worker_seconds(uint64_t size)
{
    enum { MIN_SECONDS = 10, BYTES_PER_SECOND = 8 << 20, MAX_SECONDS = 3600 };
    uint64_t more = size / BYTES_PER_SECOND;
    return MIN_SECONDS + (unsigned)(more < MAX_SECONDS ? more : MAX_SECONDS);
}

/* Ends the process, if it still runs. Returns how it ended, as waitpid does. */
static int end_process(struct dwarf_worker *w)
{
    int status = 0;
    if (w->pid <= 0)
        return 0;
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    return status;
}

static int report_death(struct dwarf_worker *w, struct error *err)
{
    int status = end_process(w);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return error_set(err, w->path, NO_OFFSET,
                         "debug information needs more than %u s of CPU time", w->seconds);
    return error_set(err, w->path, NO_OFFSET, "DWARF worker died");
}

void dwarf_worker_delete(struct dwarf_worker *w)
{
    if (w == NULL)
        return;
    close(w->socket);
    end_process(w);
    free(w->path);
    free(w->numbers);
    free(w);
}

/* Moves SIZE bytes to (WRITING) or from the worker before DEADLINE [ms]. */
static int transfer(struct dwarf_worker *w, bool writing, uint8_t *data, size_t size,
                    int64_t deadline, struct error *err)
{
    while (size > 0) {
        struct pollfd p = {w->socket, writing ? POLLOUT : POLLIN, 0};
        int64_t left = deadline - now_ms();
        int ready = left > 0 ? poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return error_set(err, w->path, NO_OFFSET, "DWARF worker did not answer within %u s",
                             w->timeout);
        ssize_t moved = ready < 0 ? -1
                        : writing ? send(w->socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                                  : recv(w->socket, data, size, MSG_DONTWAIT);
        if (moved < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (moved <= 0)
            return report_death(w, err);
        data += moved;
        size -= (size_t)moved;
    }
    return 0;
}

/* Sends SIZE and, if it is not 0, the descriptor FD. */
static int send_file(struct dwarf_worker *w, int fd, uint64_t size, struct error *err)
{
    uint8_t bytes[8];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    put_u64le(bytes, size);
    if (size > 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t sent;
    do /* it waits: there is room */
        sent = sendmsg(w->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof bytes ? 0 : report_death(w, err);
}

/* Gives the worker the file that it asks for. */
static int give_file(struct dwarf_worker *w, int64_t deadline, struct error *err)
{
    uint8_t raw[2 * (PATH_MAX + 4)];
    size_t size, folder_length = 0, name_length = 0;
    if (transfer(w, false, raw, 4, deadline, err) != 0)
        return -1;
    size = get_u32(raw, false);
    if (size > sizeof raw || ++w->wanted > MAX_SPLIT_FILES)
        return error_set(err, w->path, NO_OFFSET, "DWARF worker requested too much");
    if (transfer(w, false, raw, size, deadline, err) != 0)
        return -1;
    struct cursor in = {.data = raw, .size = size};
    const char *text = cursor_string(&in, &folder_length);
    char *folder = mem_strndup(in.bad ? "" : text, folder_length);
    text = cursor_string(&in, &name_length);
    char *name = mem_strndup(in.bad ? "" : text, name_length);
    struct elf_file *file = w->files.open_split(w->files.context, folder, name);
    int result = send_file(w, file != NULL ? file->fd : -1, file != NULL ? file->size : 0, err);
    elf_file_close(file);
    free(folder);
    free(name);
    return result;
}

/* Receives the size of the answer, after all files that the worker asks for. */
static int receive_size(struct dwarf_worker *w, int64_t deadline, size_t *size, struct error *err)
{
    uint8_t raw[4];
    for (;;) {
        if (transfer(w, false, raw, sizeof raw, deadline, err) != 0)
            return -1;
        *size = get_u32(raw, false);
        if (*size == FILE_REFUSED && w->wanted > 0)
            w->files.refuse_split(w->files.context);
        else if (*size != FILE_WANTED || w->files.open_split == NULL)
            return 0;
        else if (give_file(w, deadline, err) != 0)
            return -1;
    }
}

/* Sends the question, and receives the answer as bytes; caller frees. */
static uint8_t *exchange(struct dwarf_worker *w, const uint64_t *addresses, size_t count,
                         size_t *size, struct error *err)
{
    int64_t deadline = now_ms() + (int64_t)w->timeout * 1000;
    struct buffer question = {0};
    uint8_t *answer = NULL;
    buffer_u32(&question, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        buffer_u64(&question, addresses[i]);
    int result = transfer(w, true, question.data, question.size, deadline, err);
    buffer_free(&question);
    if (result != 0 || receive_size(w, deadline, size, err) != 0)
        return NULL;
    if (*size > MAX_ANSWER) {
        error_set(err, w->path, NO_OFFSET,
                  "DWARF worker sent an answer of %zu bytes, at most %d expected", *size,
                  MAX_ANSWER);
        return NULL;
    }
    answer = mem_alloc(*size);
    if (transfer(w, false, answer, *size, deadline, err) == 0)
        return answer;
    free(answer);
    return NULL;
}

static void take_strings(struct dwarf_worker *w, struct cursor *in, struct strings *strings)
{
    uint32_t count = cursor_u32(in);
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        size_t length = 0;
        const char *text = cursor_string(in, &length);
        w->string_bytes += length + sizeof *w->numbers;
        if (in->bad || memchr(text, '\0', length) != NULL || w->string_bytes > MAX_STRING_BYTES) {
            in->bad = true;
            return;
        }
        mem_reserve(&w->numbers, &w->number_capacity, w->number_count + 1, sizeof *w->numbers);
        w->numbers[w->number_count++] = strings_intern_bytes(strings, text, length);
    }
}

static void take_frame(struct dwarf_worker *w, struct cursor *in, const struct strings *strings,
                       struct dwarf_answer *answer)
{
    uint32_t function = cursor_u32(in), file = cursor_u32(in), line = cursor_u32(in);
    uint32_t checksum = cursor_u32(in), discriminator = cursor_u32(in);
    if (function >= w->number_count || file >= w->number_count || checksum >= w->number_count ||
        (checksum != 0 && !pbin_is_md5(strings_get(strings, w->numbers[checksum]))) ||
        ++w->all_frames > MAX_ALL_FRAMES) {
        in->bad = true;
        return;
    }
    mem_reserve(&answer->frames, &answer->frame_capacity, answer->frame_count + 1,
                sizeof *answer->frames);
    answer->frames[answer->frame_count++] = (struct dwarf_frame){
        w->numbers[function], w->numbers[file], line, w->numbers[checksum], discriminator};
}

static void take_address(struct dwarf_worker *w, struct cursor *in, const struct strings *strings,
                         struct dwarf_answer *answer, size_t i)
{
    unsigned count = cursor_u8(in);
    answer->first[i] = (uint32_t)answer->frame_count;
    answer->count[i] = 0;
    if (count == SAME_FRAMES && i > 0) {
        answer->first[i] = answer->first[i - 1];
        answer->count[i] = answer->count[i - 1];
        return;
    }
    if (count > MAX_FRAMES)
        in->bad = true;
    for (unsigned f = 0; f < count && !in->bad; f++)
        take_frame(w, in, strings, answer);
    answer->count[i] = (uint8_t)count;
}

void dwarf_answer_reserve(struct dwarf_answer *answer, size_t count)
{
    size_t capacity = answer->capacity;
    mem_reserve(&answer->first, &capacity, count, sizeof *answer->first);
    mem_reserve(&answer->count, &answer->capacity, count, sizeof *answer->count);
    answer->frame_count = 0;
}

int dwarf_worker_ask(struct dwarf_worker *w, const uint64_t *addresses, size_t count,
                     struct strings *strings, struct dwarf_answer *answer, struct error *err)
{
    size_t size = 0;
    uint8_t *bytes = exchange(w, addresses, count, &size, err);
    if (bytes == NULL)
        return -1;
    struct cursor in = {.data = bytes, .size = size};
    answer->damaged = cursor_u32(&in);
    take_strings(w, &in, strings);
    dwarf_answer_reserve(answer, count);
    for (size_t i = 0; i < count && !in.bad; i++)
        take_address(w, &in, strings, answer, i);
    bool bad = in.bad || cursor_left(&in) > 0;
    free(bytes);
    return bad ? error_set(err, w->path, NO_OFFSET, "DWARF worker sent a malformed answer") : 0;
}
