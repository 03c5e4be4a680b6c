/* Counts the alarms of a timer: a sampler must not lose any.
 *
 * Recipe: sampler -o signals.bin -- signals 2000
 * Prints the number of SIGALRM signals, the number of periods without one (the kernel merges a
 * signal with a pending one), and the duration.
 *
 * usage: signals [COUNT]                     an alarm every 0.5 ms
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t alarms, overruns, wanted;
static timer_t timer;

static void on_alarm(int number)
{
    (void)number;
    if (alarms == wanted)
        return; /* another signal arrived before the timer was deleted */
    alarms++;
    overruns += timer_getoverrun(timer);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec period = {{0, 500000}, {0, 500000}};
    struct timespec begin, end;
    wanted = argc > 1 ? atoi(argv[1]) : 2000;
    sigaction(SIGALRM, &action, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &period, NULL) != 0)
        return 1;
    for (volatile unsigned long work = 0; alarms < wanted; work++)
        ;
    timer_delete(timer);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("alarms %d overruns %d seconds %.3f\n", (int)alarms, (int)overruns,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    return 0;
}
