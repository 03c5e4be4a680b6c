/* Starts the program under ptrace.
 * SPDX-License-Identifier: MIT */
#include "record/engines/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* The child: waits until it is seized, then executes COMMAND. Its pipe ends are closed by the exec. */
static _Noreturn void become(char *const *command, const struct signals *signals, int go,
                             int failure)
{
    char byte;
    ssize_t got;
    while ((got = read(go, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        _exit(NOT_FOUND); /* the sampler gave up */
    signals_restore(signals);
    execvp(command[0], command);
    int errnum = errno;
    ssize_t done = write(failure, &errnum, sizeof errnum);
    _exit(done == sizeof errnum ? NOT_FOUND : NOT_EXECUTABLE);
}

/* Follows the child to its exec. Returns 0 there, or -1 when it ended. */
static int follow(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, __WALL) == pid || errno == EINTR) {
        if (WIFEXITED(status) || WIFSIGNALED(status))
            return -1;
        int event = status >> 16, number = WSTOPSIG(status);
        if (event == PTRACE_EVENT_EXEC)
            return 0;
        if (event == PTRACE_EVENT_STOP && number != SIGTRAP)
            ptrace(PTRACE_LISTEN, pid, 0, 0);
        else
            ptrace(PTRACE_CONT, pid, 0, event == 0 ? number : 0);
    }
    return -1;
}

static pid_t explain(const char *command, int failure, int *status, struct error *err)
{
    int errnum;
    if (read(failure, &errnum, sizeof errnum) != sizeof errnum)
        return error_set(err, NULL, NO_OFFSET, "'%s' was killed before it ran", command);
    *status = errnum == ENOENT || errnum == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
    return error_set_errno(err, NULL, errnum, "cannot run '%s'", command);
}

/* Otherwise it would wait at its stops to be resumed. */
static void end(pid_t pid)
{
    int status = 0;
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, __WALL) == pid ? WIFSTOPPED(status) : errno == EINTR)
        ;
}

static pid_t seize(pid_t pid, const char *command, unsigned long options, const int go[2],
                   const int failure[2], int *status, struct error *err)
{
    if (ptrace(PTRACE_SEIZE, pid, 0, options) != 0) {
        error_set_errno(err, NULL, errno,
                        "cannot trace '%s' (ptrace may be forbidden by "
                        "kernel.yama.ptrace_scope or the container)",
                        command);
        close(go[1]);
        waitpid(pid, NULL, __WALL);
        return -1;
    }
    ssize_t written;
    while ((written = write(go[1], "", 1)) < 0 && errno == EINTR)
        ;
    int errnum = errno;
    close(go[1]);
    if (written == 1)
        return follow(pid) == 0 ? pid : explain(command, failure[0], status, err);
    end(pid);
    return error_set_errno(err, NULL, errnum, "cannot start '%s'", command);
}

pid_t launch(char *const *command, unsigned long options, const struct signals *signals,
             int *status, struct error *err)
{
    int go[2], failure[2];
    *status = 1;
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
    if (pid > 0)
        pid = seize(pid, command[0], options, go, failure, status, err);
    else {
        error_set_errno(err, NULL, errno, "cannot fork");
        close(go[1]);
    }
    close(failure[0]);
    return pid;
}
