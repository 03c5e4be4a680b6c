/* Creates the process of a command.
 * SPDX-License-Identifier: MIT */
#include "record/engines/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* The child. Its pipe ends are closed by the exec. */
static _Noreturn void become(char *const *command, const struct signals *signals, int go,
                             int failure)
{
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(NOT_FOUND); /* the sampler gave up */
    signals_restore(signals);
    execvp(command[0], command);
    int errnum = errno;
    ssize_t done = write(failure, &errnum, sizeof errnum);
    _exit(done == sizeof errnum ? NOT_FOUND : NOT_EXECUTABLE);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int spawn(struct spawn *spawn, char *const *command, const struct signals *signals,
          struct error *err)
{
    int go[2], failure[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return error_set_errno(err, NULL, errno, "cannot make a pipe");
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(go[0]);
        close(go[1]);
        return error_set_errno(err, NULL, errno, "cannot make a pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        become(command, signals, go[0], failure[1]);
    }
    close(go[0]);
    close(failure[1]);
    *spawn = (struct spawn){.pid = pid, .go = go[1], .failure = failure[0]};
    if (pid > 0)
        return 0;
    error_set_errno(err, NULL, errno, "cannot fork");
    close(go[1]);
    close(failure[0]);
    return -1;
}

int spawn_go(struct spawn *spawn, const char *command, int *status, struct error *err)
{
    int errnum = 0;
    ssize_t done = write(spawn->go, "", 1), got;
    close(spawn->go);
    do
        got = read(spawn->failure, &errnum, sizeof errnum);
    while (got < 0 && errno == EINTR);
    close(spawn->failure);
    if (done == 1 && got == 0)
        return 0;
    reap(spawn->pid);
    *status = 1;
    if (got != sizeof errnum)
        return error_set(err, NULL, NO_OFFSET, "'%s' was killed before it ran", command);
    *status = errnum == ENOENT || errnum == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
    return error_set_errno(err, NULL, errnum, "cannot run '%s'", command);
}

void spawn_cancel(struct spawn *spawn)
{
    close(spawn->go);
    close(spawn->failure);
    reap(spawn->pid);
}
