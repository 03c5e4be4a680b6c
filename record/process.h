/* Facts about processes and threads; the only reader of the small files of /proc/PID.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PROCESS_H
#define RECORD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Does /proc show the PID namespace of this process? Otherwise its numbers are those of other processes. True if there is no
 * /proc. */
bool process_proc_is_own(void);
/* What the time namespace of this process adds to CLOCK_MONOTONIC [ns]. */
int64_t process_clock_offset(void);
/* The process of thread TID, and in *PARENT, if not NULL, its parent process. Returns -1 if the thread has ended. */
pid_t process_of(pid_t tid, pid_t *parent);
/* Is TID a thread of PID? */
bool process_has(pid_t pid, pid_t tid);
/* The session of PID, -1: it has ended. */
pid_t process_session(pid_t pid);
/* The name of process or thread ID, at most SIZE - 1 bytes. Returns whether it exists, otherwise NAME is "". */
bool process_name(pid_t id, char *name, size_t size);
/* CPU time of all threads of process PID, including those that have ended [ns]; 0: unknown. */
uint64_t process_cpu(pid_t pid);
/* The ticks of the kernel that found process PID in user code, and in the kernel, times the time between two ticks [ns].
 * Returns whether they are known. */
bool process_ticks(pid_t pid, uint64_t *user, uint64_t *system);
/* In TEXT, the file `stat` of a process or thread: field FIELD, at least 3, as numbered in proc_pid_stat(5), and the space
 * before it; NULL: it is missing. */
const char *process_stat_field(const char *text, int field);
/* In such a TEXT: the page faults, minor and major, 0: unknown; the CPU on which it runs or last ran, -1: unknown. */
uint64_t process_stat_faults(const char *text);
int process_stat_cpu(const char *text);
/* Page faults of process PID so far; 0: unknown. */
uint64_t process_faults(pid_t pid);
/* CPU time of thread TID of process PID, at the last count of the scheduler [ns]; 0: unknown. */
uint64_t process_thread_cpu(pid_t pid, pid_t tid);
/* The same, with the number of times it got a CPU. Returns whether they are known. */
struct process_run {
    uint64_t cpu, turns;
};
bool process_thread_run(pid_t pid, pid_t tid, struct process_run *run);
/* Does thread TID of process PID have a CPU, or wait for one? */
bool process_thread_runs(pid_t pid, pid_t tid);
/* Does thread TID of process PID have a pending signal that it does not block? */
bool process_has_signal(pid_t pid, pid_t tid);
/* Is PID the first process of a PID namespace, and without a handler for SIGNAL? */
bool process_is_init(pid_t pid, int signal);
/* Has thread TID of process PID ended? One that has ended before others may remain as a zombie. */
bool process_thread_ended(pid_t pid, pid_t tid);
/* The threads of process PID, with ended ones that remain. Returns how many, and in *TIDS an array that the caller frees;
 * or -1 with errno set, and *TIDS NULL. */
ssize_t process_threads(pid_t pid, pid_t **tids);
/* The same for a process whose threads are in FOLDER, an open /proc/PID/task. */
ssize_t process_threads_in(int folder, pid_t **tids);
/* A thread of PID that has not ended, the first one if possible: /proc/PID shows no executable or mappings of a process
 * whose first thread has ended, /proc/TID does. -1: none. */
pid_t process_living_thread(pid_t pid);

#endif
