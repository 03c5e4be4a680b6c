/* Facts about processes and threads; the only reader of the small files of /proc/PID.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PROCESS_H
#define RECORD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether /proc shows the PID namespace of this process. Otherwise, the numbers in /proc
 * belong to other processes. True if there is no /proc. */
bool process_proc_is_own(void);
/* Returns the offset that the time namespace of this process adds to CLOCK_MONOTONIC [ns]. */
int64_t process_clock_offset(void);
/* Returns the process of thread TID, and sets *PARENT, if not NULL, to its parent process. Returns
 * -1 if the thread has ended. */
pid_t process_of(pid_t tid, pid_t *parent);
/* Returns whether TID is a thread of PID. */
bool process_has(pid_t pid, pid_t tid);
/* Returns the session of PID; -1: it has ended. */
pid_t process_session(pid_t pid);
/* Reads the name of a process or thread ID, at most SIZE - 1 bytes. Returns whether it exists;
 * otherwise, NAME is "". */
bool process_name(pid_t id, char *name, size_t size);
/* Returns the CPU time of all threads of process PID, including those that have ended [ns]; 0:
 * unknown. */
uint64_t process_cpu(pid_t pid);
/* Sets *USER and *SYSTEM to the number of kernel ticks that found process PID in user code and in
 * the kernel, times the time between two ticks [ns]. Returns whether they are known. */
bool process_ticks(pid_t pid, uint64_t *user, uint64_t *system);
/* The same, but also returns false if there are none beyond KNOWN_USER and KNOWN_SYSTEM, which were
 * read before [ns]. */
bool process_new_ticks(pid_t pid, uint64_t known_user, uint64_t known_system, uint64_t *user,
                       uint64_t *system);
/* Return values in TEXT, the file `stat` of a process or thread: the number of minor and major page
 * faults, 0: unknown; the CPU on which it runs or last ran, -1: unknown. */
uint64_t process_stat_faults(const char *text);
int process_stat_cpu(const char *text);
/* Returns the number of page faults of process PID so far; 0: unknown. */
uint64_t process_faults(pid_t pid);
/* Returns the CPU time of thread TID of process PID, as last updated by the scheduler [ns]; 0:
 * unknown. */
uint64_t process_thread_cpu(pid_t pid, pid_t tid);
/* The same, with the number of times the thread got a CPU. Returns whether they are known. */
struct process_run {
    uint64_t cpu, turns;
};
bool process_thread_run(pid_t pid, pid_t tid, struct process_run *run);
/* Returns whether thread TID of process PID has a CPU, or waits for one. */
bool process_thread_runs(pid_t pid, pid_t tid);
/* Returns whether thread TID of process PID has a pending signal that it neither blocks nor ignores,
 * explicitly or by default. SIGNAL counts as pending (0: none). */
bool process_has_signal(pid_t pid, pid_t tid, int signal);
/* Returns whether thread TID of process PID blocks SIGNAL, or has ended. */
bool process_blocks(pid_t pid, pid_t tid, int signal);
/* Returns whether FD of thread TID is a socket if IS_SOCKET, otherwise a pipe or terminal, whose
 * calls wait until all bytes are transferred. */
bool process_file_blocks(pid_t tid, int fd, bool is_socket);
/* Returns whether PID is the first process of a PID namespace, and has no handler for SIGNAL. */
bool process_is_init(pid_t pid, int signal);
/* Returns whether thread TID of process PID has ended. A thread that has ended before others may
 * remain as a zombie. */
bool process_thread_ended(pid_t pid, pid_t tid);
/* Lists the threads of process PID, including ended ones that remain. Returns their number, and
 * sets *TIDS to an array that the caller frees; or -1 with errno set, and *TIDS NULL. */
ssize_t process_threads(pid_t pid, pid_t **tids);
/* The same for a process whose threads are in FOLDER, an open /proc/PID/task. */
ssize_t process_threads_in(int folder, pid_t **tids);
/* Returns a thread of PID that has not ended, the first thread if possible: after the first thread
 * has ended, /proc/PID shows no executable or mappings of the process, but /proc/TID does. -1:
 * none. */
pid_t process_living_thread(pid_t pid);

#endif
