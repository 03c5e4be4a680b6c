/* Starts the program under ptrace.
 * SPDX-License-Identifier: MIT */
#include "record/engines/launch.h"

#include <errno.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "record/engines/spawn.h"

/* Follows the child until it calls exec. Returns 0 then, or -1 if the child has ended. */
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

pid_t launch(char *const *command, unsigned long options, const struct signals *signals,
             int *status, struct error *err)
{
    struct spawn child;
    *status = 1;
    if (spawn(&child, command, signals, err) != 0)
        return -1;
    if (ptrace(PTRACE_SEIZE, child.pid, 0, options) != 0)
        error_set_errno(err, NULL, errno,
                        "cannot trace '%s' (ptrace may be forbidden by "
                        "kernel.yama.ptrace_scope or the container)",
                        command[0]);
    else if (spawn_go(&child, command[0], err) == 0) {
        bool runs = follow(child.pid) == 0;
        int errnum = spawn_failure(&child);
        return runs ? child.pid : spawn_explain(command[0], errnum, status, err);
    }
    spawn_cancel(&child);
    return -1;
}
