/* Confines a process to memory and its sockets.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SANDBOX_H
#define CONVERT_DWARF_DWARF_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

enum { FIRST_OTHER_SOCKET = 3 };

/* Called in a newly forked child. Afterwards, the first of COUNT (at most 2) SOCKETS is file
 * descriptor 0, the second one is FIRST_OTHER_SOCKET, and the only other descriptors are 1 and 2,
 * which are /dev/null. Memory is limited to the present size plus MEMORY bytes, and CPU time to
 * SECONDS, after which SIGXCPU ends the process. No file can be opened if the kernel has Landlock.
 * The process dies with its parent PARENT. It may still create threads, which have the same limits.
 * Returns false if the kernel refuses a limit that every kernel supports; the process must not
 * continue then. */
bool dwarf_sandbox_limit(const int *sockets, unsigned count, int parent, uint64_t memory,
                         uint64_t seconds);

/* Called after dwarf_sandbox_limit. In all existing threads, prevents opening files and creating or
 * signalling processes and threads. Returns false as dwarf_sandbox_limit does. */
bool dwarf_sandbox_enter(void);

#endif
