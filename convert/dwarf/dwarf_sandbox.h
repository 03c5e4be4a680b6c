/* Confines a process to memory and one socket.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SANDBOX_H
#define CONVERT_DWARF_DWARF_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* For a newly forked child. Afterwards SOCKET is file descriptor 0, and the only one except 1 and 2, which are
 * /dev/null. Memory is limited to the present size plus MEMORY bytes, and CPU time to SECONDS, after which SIGXCPU
 * ends the process. No file can be opened if the kernel has Landlock. The process dies with its parent PARENT. It may
 * still create threads, which have the same limits. Returns false if the kernel refuses a limit that every kernel
 * supports; then do not continue. */
bool dwarf_sandbox_limit(int socket, int parent, uint64_t memory, uint64_t seconds);

/* Call this afterwards. In all existing threads, it prevents opening files and creating or signalling processes and
 * threads. Returns false like dwarf_sandbox_limit. */
bool dwarf_sandbox_enter(void);

#endif
