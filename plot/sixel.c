/* Asks the terminal whether it can show pictures.
 * SPDX-License-Identifier: MIT */
#include "plot/sixel.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ANSWER = 256 };

/* Finds the answer to Primary Device Attributes, such as "ESC [ ? 6 2 ; 4 c", at the end of TEXT. Returns its
 * beginning, or NULL. Sets *SIXEL to whether 4, sixel graphics, is among the attributes after the level. */
static const char *sixel_answer(const char *text, size_t size, bool *sixel)
{
    size_t at = size, value = 0, scale = 1;
    *sixel = false;
    if (size == 0 || text[--at] != 'c')
        return NULL;
    for (; at > 0 && ((text[at - 1] >= '0' && text[at - 1] <= '9') || text[at - 1] == ';'); at--) {
        if (text[at - 1] == ';') {
            *sixel |= value == 4;
            value = 0;
            scale = 1;
        } else if (value < 1000) { /* read from the right */
            value += scale * (size_t)(text[at - 1] - '0');
            scale *= 10;
        }
    }
    return at >= 3 && memcmp(text + at - 3, "\033[?", 3) == 0 ? text + at - 3 : NULL;
}

static int milliseconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000);
}

/* Reads one byte within the remaining time. Returns false if there is none. */
static bool next_byte(int fd, const struct timespec *begin, char *byte)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int left = SIXEL_PATIENCE - milliseconds_since(begin);
    return left > 0 && poll(&ready, 1, left) > 0 && read(fd, byte, 1) == 1;
}

/* Puts bytes back as if they were typed; some systems forbid this. */
static void give_back(int fd, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (ioctl(fd, TIOCSTI, text + i) != 0)
            return;
}

/* Asks the terminal. Reads byte by byte, because input after the answer is not for us. */
static bool ask(int fd)
{
    static const char question[] = "\033[c";
    char text[MAX_ANSWER];
    const char *answer = NULL;
    size_t size = 0;
    bool sixel = false;
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (write(fd, question, sizeof question - 1) != (ssize_t)sizeof question - 1)
        return false;
    while (answer == NULL && size < sizeof text && next_byte(fd, &begin, &text[size]))
        answer = sixel_answer(text, ++size, &sixel);
    give_back(fd, text, answer != NULL ? (size_t)(answer - text) : size);
    return answer != NULL && sixel;
}

/* Returns whether no input is waiting. Waiting input was typed: it must stay, and would come before
 * any answer. */
static bool is_quiet(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) == 0;
}

static bool ask_raw(int fd)
{
    struct termios before, raw;
    sigset_t keyboard, old;
    bool sixel = false;
    if (tcgetattr(fd, &before) != 0)
        return false;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    sigemptyset(&keyboard);
    for (size_t i = 0; i < 6; i++)
        sigaddset(&keyboard, (int[]){SIGINT, SIGQUIT, SIGTSTP, SIGTERM, SIGHUP, SIGALRM}[i]);
    sigprocmask(SIG_BLOCK, &keyboard, &old);
    if (tcsetattr(fd, TCSANOW, &raw) == 0) {
        sixel = is_quiet(fd) && ask(fd);
        tcsetattr(fd, TCSANOW, &before);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return sixel;
}

/* Returns whether the terminal is ours, in the foreground: in the background, asking would stop the
 * process. */
static bool is_ours(int fd)
{
    return tcgetsid(STDOUT_FILENO) == getsid(0) && tcgetpgrp(fd) == getpgrp();
}

bool sixel_shown(void)
{
    const char *term = getenv("TERM");
    if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
        return false;
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool sixel = is_ours(fd) && ask_raw(fd);
    close(fd);
    return sixel;
}
