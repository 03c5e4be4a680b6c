/* Runs gnuplot: reads the script from an unnamed file and returns the picture through a pipe.
 * SPDX-License-Identifier: MIT */
#include "plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"
#include "base/transfer.h"
#include "plot/text_filter.h"

enum { NO_PROGRAM = 127, MAX_MESSAGE = 4000 };

/* Writes the script to a file and rewinds it. Returns a descriptor, or -1. */
static int spool(const struct script *script, struct error *err)
{
    int fd = temporary_file(err);
    if (fd < 0)
        return -1;
    if (!write_all(fd, script->text.data, script->text.size) || lseek(fd, 0, SEEK_SET) != 0) {
        error_set_errno(err, NULL, errno, "cannot write the script for gnuplot");
        close(fd);
        return -1;
    }
    return fd;
}

/* Runs gnuplot in this process; never returns. Numbers need decimal points, and the user's settings
 * must not interfere. */
static _Noreturn void become_gnuplot(int in, int out, int messages, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NO_PROGRAM);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("GNUTERM");
    signal(SIGPIPE, SIG_DFL);
    execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
    _exit(NO_PROGRAM);
}

/* Writes SVG, and escapes ">" in "]]>", which XML text must not contain: gnuplot does not. *CLOSING
 * counts the brackets so far. */
static int put_svg(struct output *out, const char *data, size_t size, size_t *closing)
{
    size_t from = 0;
    int result = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '>' && *closing >= 2) {
            output_write(out, data + from, i - from);
            result = output_write(out, "&gt;", 4);
            from = i + 1;
        }
        *closing = data[i] == ']' ? *closing + 1 : 0;
    }
    return result == 0 ? output_write(out, data + from, size - from) : -1;
}

static int copy_picture(int from, enum picture picture, struct output *out, struct error *err)
{
    char data[65536];
    size_t closing = 0;
    struct text_filter text = {.out = out};
    int result = 0;
    while (result == 0) {
        ssize_t got = read(from, data, sizeof data);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            result = error_set_errno(err, NULL, errno, "cannot read the picture from gnuplot");
        if (got <= 0)
            break;
        result = picture == PICTURE_SVG   ? put_svg(out, data, (size_t)got, &closing)
                 : picture == PICTURE_TXT ? text_filter_put(&text, data, (size_t)got)
                                          : output_write(out, data, (size_t)got);
    }
    text_filter_free(&text);
    return result;
}

/* Returns the last line of the messages of gnuplot, which contains the cause. Caller frees. */
static char *last_message(int fd)
{
    char text[MAX_MESSAGE + 1];
    ssize_t got = pread(fd, text, MAX_MESSAGE, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *last = "";
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (line[strspn(line, " ^")] != '\0')
            last = line + strspn(line, " ");
    return mem_strdup(last);
}

static int check_result(int status, int messages, const struct reporter *reporter,
                        struct error *err)
{
    char *why = last_message(messages);
    int result = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM)
        result = error_set(err, NULL, NO_OFFSET,
                           "gnuplot not found: install gnuplot-nox, or draw flame, which does not "
                           "need it");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        result =
            error_set(err, NULL, NO_OFFSET, "gnuplot failed%s%s", why[0] != '\0' ? ": " : "", why);
    else if (why[0] != '\0')
        report_verbose(reporter, "gnuplot: %s", why);
    free(why);
    return result;
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* Runs gnuplot with the script in IN. Leaves IN and MESSAGES open. Returns 0, or -1 with ERR
 * filled. */
static int run(int in, int messages, enum picture picture, struct output *out,
               const struct reporter *reporter, struct error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, NULL, errno, "cannot create a pipe");
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(in, ends[1], messages, parent);
    close(ends[1]);
    int result = child < 0 ? error_set_errno(err, NULL, errno, "cannot fork")
                           : copy_picture(ends[0], picture, out, err);
    close(ends[0]);
    if (child < 0)
        return -1;
    int status = wait_for(child);
    return result == 0 ? check_result(status, messages, reporter, err) : -1;
}

int script_run(const struct script *script, struct output *out, const struct reporter *reporter,
               struct error *err)
{
    int messages = -1, result = -1, in = spool(script, err);
    if (in >= 0)
        messages = temporary_file(err);
    if (messages >= 0)
        result = run(in, messages, script->picture, out, reporter, err);
    if (messages >= 0)
        close(messages);
    if (in >= 0)
        close(in);
    return result;
}
