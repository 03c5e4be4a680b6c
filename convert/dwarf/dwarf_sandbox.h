/* Takes from a process everything but memory and one socket.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SANDBOX_H
#define CONVERT_DWARF_DWARF_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* For a freshly forked child: afterwards SOCKET is file descriptor 0 and the only one, but for 1
 * and 2 which are /dev/null; memory is limited to what it has now and MEMORY more bytes, and CPU time to SECONDS, when
 * SIGXCPU ends it; no file can be opened where the kernel has Landlock; it dies with its parent PARENT. Threads may still be made,
 * which are under the same limits. Returns false when the kernel refuses a part that every kernel has: then do not go on. */
bool dwarf_sandbox_limit(int socket, int parent, uint64_t memory, uint64_t seconds);

/* After that: no file can be opened, no process or thread made or signalled, in all threads that there are. Returns false as
 * dwarf_sandbox_limit. */
bool dwarf_sandbox_enter(void);

#endif
