/* Runs the command that is to be metered.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/command_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/spawn.h"

char *command_find_library(struct error *err)
{
    static const char *const places[] = {"funcmeter-preload.so",
                                         "../lib/pbin-tools/funcmeter-preload.so"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *path = mem_printf("%s/%s", self, places[i]);
        bool found = access(path, R_OK) == 0;
        if (found && strpbrk(path, " :") == NULL)
            return path;
        if (found)
            error_set(err, path, NO_OFFSET,
                      "the loader does not accept a path with a space or colon");
        free(path);
    }
    error_set(err, NULL, NO_OFFSET,
              "cannot find funcmeter-preload.so in %s or %s/../lib/pbin-tools", self, self);
    return NULL;
}

/* Waits until the process ends, and passes signals on to it. Returns its status. */
static int await(pid_t pid, const struct signals *signals)
{
    int status = 0;
    for (;;) {
        siginfo_t info;
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid || (done < 0 && errno != EINTR))
            return status;
        int number = signals_wait(signals, SECOND, &info);
        if (number != 0 && signals_passed_on(&info))
            kill(pid, number);
        else if (number != 0 && signals_stop(number))
            signals_stop_self(number);
    }
}

int command_run(char *const *command, const struct signals *signals, struct probes *probes,
                int *status, int *end, struct error *err)
{
    struct spawn child;
    if (spawn(&child, command, signals, err) != 0)
        return -1;
    if ((probes != NULL && probes_watch(probes, child.pid, err) != 0) ||
        spawn_go(&child, command[0], err) != 0) {
        spawn_cancel(&child);
        return -1;
    }
    int errnum = spawn_failure(&child);
    *status = await(child.pid, signals);
    return errnum == 0 ? 0 : spawn_explain(command[0], errnum, end, err);
}
