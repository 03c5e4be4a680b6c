/* Creates the process of a command.
 * SPDX-License-Identifier: MIT */
#include "record/engines/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Calls read(2), again after a signal. */
static ssize_t get(int fd, void *data, size_t size)
{
    ssize_t got;
    while ((got = read(fd, data, size)) < 0 && errno == EINTR)
        ;
    return got;
}

/* The child. Its pipe ends are closed by the exec. */
static _Noreturn void become(char *const *command, const struct signals *signals, int go,
                             int failure)
{
    char byte;
    if (get(go, &byte, 1) != 1)
        _exit(NOT_FOUND); /* the sampler gave up */
    signals_restore(signals);
    execvp(command[0], command);
    int errnum = errno;
    ssize_t done = write(failure, &errnum, sizeof errnum);
    _exit(done == sizeof errnum ? NOT_FOUND : NOT_EXECUTABLE);
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

int spawn_go(struct spawn *spawn, const char *command, struct error *err)
{
    ssize_t done;
    while ((done = write(spawn->go, "", 1)) < 0 && errno == EINTR)
        ;
    int errnum = errno;
    close(spawn->go);
    spawn->go = -1;
    return done == 1 ? 0 : error_set_errno(err, NULL, errnum, "cannot start '%s'", command);
}

int spawn_failure(struct spawn *spawn)
{
    int errnum = 0;
    ssize_t got = get(spawn->failure, &errnum, sizeof errnum);
    close(spawn->failure);
    spawn->failure = -1;
    return got == sizeof errnum ? errnum : 0;
}

int spawn_explain(const char *command, int errnum, int *status, struct error *err)
{
    if (errnum == 0)
        return error_set(err, NULL, NO_OFFSET, "'%s' was killed before it ran", command);
    *status = errnum == ENOENT || errnum == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
    return error_set_errno(err, NULL, errnum, "cannot run '%s'", command);
}

void spawn_cancel(struct spawn *spawn)
{
    int status = 0;
    if (spawn->go >= 0)
        close(spawn->go);
    if (spawn->failure >= 0)
        close(spawn->failure);
    kill(spawn->pid, SIGKILL);
    while (waitpid(spawn->pid, &status, __WALL) == spawn->pid ? WIFSTOPPED(status) : errno == EINTR)
        ptrace(PTRACE_CONT, spawn->pid, 0, 0); /* a traced child may stop on its way out */
}
