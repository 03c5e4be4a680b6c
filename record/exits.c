/* The CPU time of processes that have ended.
 * SPDX-License-Identifier: MIT */
#include "record/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/memory.h"

/* The first version that contains the process of a thread, and one in which members are in other
 * places. */
enum { FIRST_VERSION = 12, ODD_VERSION = 15 };
enum { BUFFER = 1 << 22, MESSAGE = 8192 };

/* A process, and the CPU time of its threads that have ended. */
struct ended {
    bool over;
    uint64_t cpu;          /* [ns] */
    uint64_t user, system; /* the same in ticks [us] */
};

struct exits {
    int fd; /* -1: messages were lost */
    struct numbers pids;
    struct ended *processes; /* by number in PIDS: at most one for each pid of the machine */
    size_t capacity;
};

/* ---- messages ----------------------------------------------------------------------------------- */

struct request {
    struct nlmsghdr header;
    struct genlmsghdr family;
    char attributes[512];
};

/* Sends COMMAND to FAMILY with one attribute, which is a text. */
static bool ask(int fd, uint16_t family, uint8_t command, uint16_t type, const char *text)
{
    size_t size = strlen(text) + 1;
    struct request request = {
        .header = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .family = {.cmd = command, .version = 1}};
    if (size > sizeof request.attributes - NLA_HDRLEN)
        return false;
    struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type};
    memcpy(request.attributes, &attribute, sizeof attribute);
    memcpy(request.attributes + NLA_HDRLEN, text, size);
    size = offsetof(struct request, attributes) + NLA_ALIGN(attribute.nla_len);
    request.header.nlmsg_len = (uint32_t)size;
    return send(fd, &request, size, 0) == (ssize_t)size;
}

/* Returns the attribute of TYPE in SIZE bytes at DATA, or NULL if there is none; *LENGTH becomes
 * its size. */
static const char *find(const char *data, size_t size, uint16_t type, size_t *length)
{
    struct nlattr attribute;
    while (data != NULL && size >= sizeof attribute) {
        memcpy(&attribute, data, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > size)
            return NULL;
        if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
            *length = attribute.nla_len - sizeof attribute;
            return data + sizeof attribute;
        }
        size_t whole = NLA_ALIGN((size_t)attribute.nla_len);
        data += whole < size ? whole : size;
        size -= whole < size ? whole : size;
    }
    return NULL;
}

/* Receives a message of at most MESSAGE bytes. Returns its attributes with *SIZE set; or NULL with
 * *SIZE 0 if it has none, with its header in HEADER. */
static const char *receive(int fd, char *message, struct nlmsghdr *header, size_t *size)
{
    struct sockaddr_nl from = {0};
    socklen_t from_size = sizeof from;
    ssize_t got = recvfrom(fd, message, MESSAGE, 0, (struct sockaddr *)&from, &from_size);
    *size = 0;
    *header = (struct nlmsghdr){0};
    if (got < 0)
        return NULL;
    errno = 0;
    if (got < (ssize_t)sizeof *header || from.nl_pid != 0) /* only replies from the kernel count */
        return NULL;
    memcpy(header, message, sizeof *header);
    if (header->nlmsg_len > (size_t)got || header->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
        return NULL;
    *size = header->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
    return message + NLMSG_HDRLEN + GENL_HDRLEN;
}

/* Waits for the answer to a request. Returns whether the request succeeded. *FAMILY becomes the
 * number of a family if the answer contains one. */
static bool answered(int fd, uint16_t *family)
{
    _Alignas(8) char message[MESSAGE];
    struct nlmsghdr header = {0};
    for (int messages = 0; messages < 1000; messages++) {
        size_t size, length;
        const char *attributes = receive(fd, message, &header, &size);
        if (attributes == NULL && errno != 0)
            return false;
        if (header.nlmsg_type == NLMSG_ERROR && size > 0) {
            int32_t error; /* in the place of the header of a message of the family */
            memcpy(&error, message + NLMSG_HDRLEN, sizeof error);
            return error == 0;
        }
        const char *number = size > 0 ? find(attributes, size, CTRL_ATTR_FAMILY_ID, &length) : NULL;
        if (number != NULL && header.nlmsg_type == GENL_ID_CTRL && length >= sizeof *family)
            memcpy(family, number, sizeof *family);
    }
    return false;
}

/* ---- listening ---------------------------------------------------------------------------------- */

static bool all_cpus(char *text, size_t size)
{
    int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

static bool listen_to_kernel(int fd)
{
    char cpus[256];
    uint16_t family = 0;
    int size = BUFFER;
    struct timeval patience = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    return ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME) &&
           answered(fd, &family) && family != 0 && all_cpus(cpus, sizeof cpus) &&
           ask(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus) &&
           answered(fd, &family) && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

struct exits *exits_open(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (fd < 0)
        return NULL;
    if (!listen_to_kernel(fd)) {
        close(fd);
        return NULL;
    }
    struct exits *exits = mem_zalloc(1, sizeof *exits);
    exits->fd = fd;
    return exits;
}

static void forget_all(struct exits *exits)
{
    numbers_free(&exits->pids);
    free(exits->processes);
    if (exits->fd >= 0)
        close(exits->fd);
    *exits = (struct exits){.fd = -1};
}

void exits_close(struct exits *exits)
{
    if (exits == NULL)
        return;
    forget_all(exits);
    free(exits);
}

static void add(struct exits *exits, const struct taskstats *stats)
{
    uint32_t known = exits->pids.count, number = numbers_intern(&exits->pids, stats->ac_tgid);
    mem_reserve(&exits->processes, &exits->capacity, (size_t)number + 1, sizeof *exits->processes);
    struct ended *p = &exits->processes[number];
    /* exits_take was not called for the previous process with this pid */
    if (number == known || p->over)
        *p = (struct ended){0};
    p->cpu += stats->cpu_run_virtual_total;
    p->user += stats->ac_utime;
    p->system += stats->ac_stime;
    p->over = (stats->ac_flag & AGROUP) != 0;
}

static void take_message(struct exits *exits, const char *attributes, size_t size)
{
    struct taskstats stats = {0};
    size_t length;
    const char *body = find(attributes, size, TASKSTATS_TYPE_AGGR_PID, &length);
    if (body != NULL)
        body = find(body, length, TASKSTATS_TYPE_STATS, &length);
    if (body == NULL || length < offsetof(struct taskstats, ac_tgetime))
        return;
    memcpy(&stats, body, length < sizeof stats ? length : sizeof stats);
    if (stats.version >= FIRST_VERSION && stats.version != ODD_VERSION)
        add(exits, &stats);
}

void exits_read(struct exits *exits)
{
    _Alignas(8) char message[MESSAGE];
    while (exits->fd >= 0) {
        struct nlmsghdr header;
        size_t size;
        const char *attributes = receive(exits->fd, message, &header, &size);
        if (size > 0)
            take_message(exits, attributes, size);
        else if (attributes == NULL && errno == ENOBUFS)
            forget_all(exits);
        else if (attributes == NULL && errno != 0 && errno != EINTR)
            break;
    }
}

bool exits_take(struct exits *exits, uint32_t pid, struct raw_cpu *cpu)
{
    uint32_t number = numbers_find(&exits->pids, pid);
    struct ended *p = number != INTERN_NONE ? &exits->processes[number] : NULL;
    if (p == NULL || !p->over || p->cpu == 0)
        return false;
    double share = p->user + p->system > 0 ? (double)p->user / (double)(p->user + p->system) : 1;
    *cpu = (struct raw_cpu){.pid = pid, .user = (uint64_t)(share * (double)p->cpu)};
    cpu->system = p->cpu > cpu->user ? p->cpu - cpu->user : 0;
    *p = (struct ended){0};
    return true;
}
