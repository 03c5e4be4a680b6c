/* Asks questions about the debug information of a file: the side of the caller.
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
#include "base/thread.h"

/* Smaller files are read faster than a thread is started [bytes]. */
#define WORTH_TWO (UINT64_C(2) << 20)
enum { MAX_SPLIT_FILES = 1 << 16 };

/* A thread of the worker, on our side. */
struct part {
    int socket;
    struct buffer unsent; /* of questions */
    size_t sent;          /* of UNSENT */
    struct dwarf_texts texts;
};

struct dwarf_worker {
    pid_t pid;
    struct part parts[MAX_PARTS];
    unsigned part_count;
    unsigned announced; /* questions whose answers have not been received */
    unsigned timeout;   /* [s] */
    unsigned seconds;   /* of CPU time */
    char *path;         /* for messages */
    struct dwarf_limits used;
    struct dwarf_files files; /* for files that it requests */
    uint32_t wanted;          /* number of files that it has requested */
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns the number of threads that answer. It is 1 with other files, whose unpacked sections
 * threads would share. */
static unsigned parts_for(const struct dwarf_files *files)
{
    bool alone = files->alternate != NULL || files->package != NULL || thread_cpus() < MAX_PARTS;
    return alone || dwarf_files_size(files) < WORTH_TWO ? 1 : MAX_PARTS;
}

/* Connects COUNT pairs of sockets. Returns false on an error. */
static bool connect_parts(int ours[], int theirs[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            for (; i > 0; i--) {
                close(ours[i - 1]);
                close(theirs[i - 1]);
            }
            return false;
        }
        ours[i] = pair[0];
        theirs[i] = pair[1];
    }
    return true;
}

struct dwarf_worker *dwarf_worker_start(const struct dwarf_files *files, unsigned timeout,
                                        struct error *err)
{
    const struct elf_file *debug = files->debug;
    const unsigned count = parts_for(files);
    int ours[MAX_PARTS], theirs[MAX_PARTS];
    if (!connect_parts(ours, theirs, count)) {
        error_set_errno(err, debug->path, errno, "cannot connect to a DWARF worker");
        return NULL;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        dwarf_worker_serve(theirs, count, parent, files);
    int errnum = errno;
    for (unsigned i = 0; i < count; i++)
        close(theirs[i]);
    if (pid < 0) {
        for (unsigned i = 0; i < count; i++)
            close(ours[i]);
        error_set_errno(err, debug->path, errnum, "cannot start a DWARF worker");
        return NULL;
    }
    struct dwarf_worker *w = mem_zalloc(1, sizeof *w);
    w->pid = pid;
    w->part_count = count;
    for (unsigned i = 0; i < count; i++)
        w->parts[i].socket = ours[i];
    w->timeout = timeout > 0 ? timeout : 60;
    w->seconds = dwarf_worker_seconds(dwarf_files_size(files));
    w->path = mem_strdup(debug->path);
    w->files = *files;
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

/* Ends the process if it still runs. Returns its status, as waitpid does. */
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

void dwarf_worker_end(const struct dwarf_worker *w)
{
    if (w != NULL && w->pid > 0)
        kill(w->pid, SIGKILL);
}

void dwarf_worker_delete(struct dwarf_worker *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < w->part_count; i++) {
        close(w->parts[i].socket);
        buffer_free(&w->parts[i].unsent);
        free(w->parts[i].texts.numbers);
    }
    end_process(w);
    free(w->path);
    free(w);
}

/* Sends as much of the questions as possible without waiting. Returns false if the other side has
 * ended. */
static bool send_questions(struct part *part)
{
    while (part->sent < part->unsent.size) {
        ssize_t sent = send(part->socket, part->unsent.data + part->sent,
                            part->unsent.size - part->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return true;
        if (sent <= 0)
            return false;
        part->sent += (size_t)sent;
    }
    part->sent = part->unsent.size = 0;
    return true;
}

/* Receives SIZE bytes from PART before DEADLINE [ms], and sends its questions meanwhile: it may
 * wait until we receive one answer before it receives the next question. Returns 0, or -1 with ERR
 * filled. */
static int receive(struct dwarf_worker *w, struct part *part, uint8_t *data, size_t size,
                   int64_t deadline, struct error *err)
{
    while (size > 0) {
        if (!send_questions(part))
            return report_death(w, err);
        const short events = part->unsent.size > 0 ? POLLIN | POLLOUT : POLLIN;
        struct pollfd p = {part->socket, events, 0};
        int64_t left = deadline - now_ms();
        int ready = left > 0 ? poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return error_set(err, w->path, NO_OFFSET, "DWARF worker did not answer within %u s",
                             w->timeout);
        ssize_t got = ready < 0 ? -1 : recv(part->socket, data, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return report_death(w, err);
        data += got;
        size -= (size_t)got;
    }
    return 0;
}

/* Waits until PART accepts more data. Returns false after DEADLINE [ms]. */
static bool wait_for_room(const struct part *part, int64_t deadline)
{
    struct pollfd p = {part->socket, POLLOUT, 0};
    int64_t left = deadline - now_ms();
    return left > 0 &&
           (poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX) > 0 || errno == EINTR);
}

/* Sends the rest of partly sent questions, because a file may only come between questions. Returns
 * false if this fails. */
static bool finish_questions(struct part *part, int64_t deadline)
{
    while (send_questions(part)) {
        if (part->unsent.size == 0)
            return true;
        if (!wait_for_room(part, deadline))
            return false;
    }
    return false;
}

/* Sends SIZE and, if it is not 0, the descriptor FD. Returns 0, or -1 with ERR filled. */
static int send_file(struct dwarf_worker *w, struct part *part, int fd, uint64_t size,
                     int64_t deadline, struct error *err)
{
    uint8_t bytes[12];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    put_u32le(bytes, FILE_WANTED);
    put_u64le(bytes + 4, size);
    if (size > 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    if (!finish_questions(part, deadline))
        return report_death(w, err);
    ssize_t sent;
    do
        sent = sendmsg(part->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_room(part, deadline))));
    return sent == (ssize_t)sizeof bytes ? 0 : report_death(w, err);
}

/* Sends the worker the file that it requests. Returns 0, or -1 with ERR filled. */
static int give_file(struct dwarf_worker *w, struct part *part, int64_t deadline, struct error *err)
{
    uint8_t raw[2 * (PATH_MAX + 4)];
    size_t size, folder_length = 0, name_length = 0;
    if (receive(w, part, raw, 4, deadline, err) != 0)
        return -1;
    size = get_u32(raw, false);
    if (size > sizeof raw || ++w->wanted > MAX_SPLIT_FILES)
        return error_set(err, w->path, NO_OFFSET, "DWARF worker requested too much");
    if (receive(w, part, raw, size, deadline, err) != 0)
        return -1;
    struct cursor in = {.data = raw, .size = size};
    const char *text = cursor_string(&in, &folder_length);
    char *folder = mem_strndup(in.bad ? "" : text, folder_length);
    text = cursor_string(&in, &name_length);
    char *name = mem_strndup(in.bad ? "" : text, name_length);
    struct elf_file *file = w->files.open_split(w->files.context, folder, name);
    int result = send_file(w, part, file != NULL ? file->fd : -1, file != NULL ? file->size : 0,
                           deadline, err);
    elf_file_close(file);
    free(folder);
    free(name);
    return result;
}

/* Receives the size of the answer, after sending all files that the worker requests. Returns 0, or
 * -1 with ERR filled. */
static int receive_size(struct dwarf_worker *w, struct part *part, int64_t deadline, size_t *size,
                        struct error *err)
{
    uint8_t raw[4];
    for (;;) {
        if (receive(w, part, raw, sizeof raw, deadline, err) != 0)
            return -1;
        *size = get_u32(raw, false);
        if (*size == FILE_REFUSED && w->wanted > 0)
            w->files.refuse_split(w->files.context);
        else if (*size != FILE_WANTED || w->files.open_split == NULL)
            return 0;
        else if (give_file(w, part, deadline, err) != 0)
            return -1;
    }
}

/* Receives the answer of PART in REPLY, whose bytes the caller frees. Returns 0, or -1 with ERR
 * filled. */
static int receive_reply(struct dwarf_worker *w, struct part *part, struct dwarf_reply *reply,
                         struct error *err)
{
    int64_t deadline = now_ms() + (int64_t)w->timeout * 1000;
    if (receive_size(w, part, deadline, &reply->size, err) != 0)
        return -1;
    if (reply->size > MAX_ANSWER)
        return error_set(err, w->path, NO_OFFSET,
                         "DWARF worker sent an answer of %zu bytes, expected at most %d",
                         reply->size, MAX_ANSWER);
    uint8_t *data = mem_alloc(reply->size);
    reply->data = data;
    reply->texts = &part->texts;
    return receive(w, part, data, reply->size, deadline, err);
}

void dwarf_worker_announce(struct dwarf_worker *w, const uint64_t *addresses, size_t count)
{
    for (unsigned p = 0; p < w->part_count; p++) {
        struct part *part = &w->parts[p];
        buffer_u32(&part->unsent, (uint32_t)count);
        for (size_t i = 0; i < count; i++)
            buffer_u64(&part->unsent, addresses[i]);
        send_questions(part); /* if this fails, so will receiving the answer */
    }
    w->announced++;
}

void dwarf_worker_complete(struct dwarf_worker *w, const uint8_t *between, size_t count)
{
    for (unsigned p = 0; p < w->part_count; p++) {
        buffer_bytes(&w->parts[p].unsent, between, BETWEEN_SIZE(count));
        send_questions(&w->parts[p]);
    }
}

unsigned dwarf_worker_announced(const struct dwarf_worker *w)
{
    return w->announced;
}

int dwarf_worker_ask(struct dwarf_worker *w, size_t count, struct strings *strings,
                     struct dwarf_answer *answer, struct error *err)
{
    struct dwarf_reply replies[MAX_PARTS] = {{0}};
    int result = 0;
    w->announced--;
    for (unsigned p = 0; p < w->part_count && result == 0; p++)
        result = receive_reply(w, &w->parts[p], &replies[p], err);
    if (result == 0 && !dwarf_answer_join(replies, w->part_count, count, &w->used, strings, answer))
        result = error_set(err, w->path, NO_OFFSET, "DWARF worker sent a malformed answer");
    for (unsigned p = 0; p < w->part_count; p++)
        free((uint8_t *)replies[p].data);
    return result;
}
