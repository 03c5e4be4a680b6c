/* A command that prints one number per line while it runs, each of which is the value at that
 * moment.
 *
 *   sampler -- keeper -- /bin/sh -c COMMAND
 *                 |                |
 *                 +--- status      +--- stdout: numbers
 *
 * The keeper is not a child of the sampler (it is forked twice), because an engine waits for any
 * child. It leads its own session, which ^C does not reach, and passes on the exit status of
 * COMMAND.
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"

enum { MAX_LINE = 512, FIRST_LINE_MS = 10000 };
enum { FACTOR = 1000 }; /* counts per unit of a counter, whose values may have three decimals */

struct process {
    const char *command;
    pid_t keeper;
    int numbers, status; /* pipes */
    char line[MAX_LINE]; /* a line that has not ended yet */
    size_t length;
    double scale;                 /* to the unit */
    double last;                  /* the value of the last complete line */
    bool counter, fresh, has_any; /* LAST is new; LAST is set */
};

static void close_command(void *state)
{
    struct process *p = state;
    int status;
    if (p->keeper > 0 && read(p->status, &status, sizeof status) != sizeof status)
        kill(-p->keeper, SIGTERM); /* it is alive, because its end of the pipe is open */
    if (p->numbers >= 0)
        close(p->numbers);
    if (p->status >= 0)
        close(p->status);
    free(p);
}

/* Runs the keeper: reports its PID, runs COMMAND, reports its status. */
static _Noreturn void keep(const char *command, int numbers, int status)
{
    sigset_t none;
    int how = 0;
    pid_t self = setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO); /* the keeper must not use the streams of the caller */
    dup2(null, STDOUT_FILENO);
    if (write(status, &self, sizeof self) != sizeof self)
        _exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(numbers, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(numbers);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    _exit(write(status, &how, sizeof how) != sizeof how);
}

static int start(struct process *p, struct error *err)
{
    int numbers[2], status[2];
    if (pipe2(numbers, O_CLOEXEC) != 0)
        return error_set_errno(err, NULL, errno, "cannot make a pipe");
    p->numbers = numbers[0];
    if (pipe2(status, O_CLOEXEC) != 0) {
        close(numbers[1]);
        return error_set_errno(err, NULL, errno, "cannot make a pipe");
    }
    p->status = status[0];
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        if (inner == 0)
            keep(p->command, numbers[1], status[1]);
        _exit(inner < 0);
    }
    int errnum = errno;
    close(numbers[1]);
    close(status[1]);
    if (pid < 0)
        return error_set_errno(err, NULL, errnum, "cannot fork");
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (read(p->status, &p->keeper, sizeof p->keeper) != sizeof p->keeper) {
        p->keeper = 0;
        return error_set(err, NULL, NO_OFFSET, "cannot start '%s'", p->command);
    }
    fcntl(p->numbers, F_SETFL, O_NONBLOCK);
    fcntl(p->status, F_SETFL, O_NONBLOCK);
    return 0;
}

static int take_line(struct process *p, struct error *err)
{
    char *end;
    p->line[p->length] = '\0';
    p->length = 0;
    double value = strtod(p->line, &end);
    while (isspace((unsigned char)*end))
        end++;
    if (end == p->line || *end != '\0' || !isfinite(value))
        return error_set(err, NULL, NO_OFFSET, "'%s': expected a number, found '%s'", p->command,
                         p->line);
    p->last = value;
    p->fresh = p->has_any = true;
    return 0;
}

static int take_text(struct process *p, const char *text, size_t size, struct error *err)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            if (take_line(p, err) != 0)
                return -1;
        } else if (p->length < MAX_LINE - 1) {
            p->line[p->length++] = text[i];
        }
    }
    return 0;
}

static int ended(struct process *p, struct error *err)
{
    int how = 0;
    struct pollfd ready = {.fd = p->status, .events = POLLIN};
    poll(&ready, 1, 1000); /* the keeper will report soon */
    if (read(p->status, &how, sizeof how) == sizeof how)
        p->keeper = 0;
    if (WIFSIGNALED(how))
        return error_set(err, NULL, NO_OFFSET, "'%s' was killed by signal %d", p->command,
                         WTERMSIG(how));
    return error_set(err, NULL, NO_OFFSET, "'%s' has ended, with exit status %d", p->command,
                     WEXITSTATUS(how));
}

static int read_command(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    struct process *p = state;
    char text[4096];
    ssize_t got;
    (void)channel;
    while ((got = read(p->numbers, text, sizeof text)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0 && take_text(p, text, (size_t)got, err) != 0)
            return -1;
    /* the last value is delivered first; at the next reading, the end is an error */
    if (got == 0 && !p->fresh)
        return ended(p, err);
    if (!p->fresh && !(p->counter && p->has_any))
        return 0;
    p->fresh = false;
    value->gauge = p->last * p->scale;
    if (p->counter && p->last < 0)
        return error_set(err, NULL, NO_OFFSET, "'%s': expected a count, found %g", p->command,
                         p->last);
    value->count = p->counter ? (uint64_t)llrint(p->last * FACTOR) : 0;
    return 1;
}

/* Waits for the first line, so that a command that fails is detected before the program starts. */
static int await(struct process *p, struct error *err)
{
    struct pmu_value value;
    struct pollfd ready = {.fd = p->numbers, .events = POLLIN};
    for (int got = 0; got == 0;) {
        if (poll(&ready, 1, FIRST_LINE_MS) == 0)
            return error_set(err, NULL, NO_OFFSET, "'%s' printed no line in %d s", p->command,
                             FIRST_LINE_MS / 1000);
        got = read_command(p, 0, &value, err);
        if (got < 0)
            return -1;
    }
    p->fresh = true; /* this line is the first reading */
    return 0;
}

static int open_command(const struct pmu_request *request, struct pmu_channels *channels,
                        void **state, struct error *err)
{
    struct pmu_unit unit;
    if (pmu_unit_settle(request->unit,
                        request->unit == NULL && request->kind < 0 ? PMU_POWER : request->kind,
                        &unit, err) != 0)
        return -1;
    uint64_t range;
    if (__builtin_mul_overflow(request->range, (uint64_t)FACTOR, &range))
        return error_set(err, NULL, NO_OFFSET, "--range: too large for a counter with decimals");
    struct process *p = mem_zalloc(1, sizeof *p);
    *p = (struct process){.command = request->argument,
                          .numbers = -1,
                          .status = -1,
                          .scale = unit.scale,
                          .counter = unit.energy};
    if (start(p, err) != 0 || await(p, err) != 0) {
        close_command(p);
        return -1;
    }
    struct pmu_channel *channel = pmu_channel_add(channels, "value", request->argument);
    pmu_channel_quantity(channel, unit.kind, unit.name);
    if (unit.energy)
        pmu_channel_counter(channel, unit.scale / FACTOR, range);
    *state = p;
    return 0;
}

extern const struct pmu_source pmu_command;
const struct pmu_source pmu_command = {
    .name = "cmd",
    .argument = "COMMAND",
    .help = "a command that prints a number per line (--unit)",
    .takes_unit = true,
    .takes_range = true,
    .open = open_command,
    .read = read_command,
    .close = close_command,
};
