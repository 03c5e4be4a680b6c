/* Takes from a process everything but memory and one socket.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SANDBOX_H
#define CONVERT_DWARF_DWARF_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* For a freshly forked child: afterwards SOCKET is file descriptor 0 and the only one, but for 1
 * and 2 which are /dev/null; memory is limited to what it has now and MEMORY more bytes, and CPU time to SECONDS, when
 * SIGXCPU ends it; no file
 * can be opened, no process made or signalled; it dies with its parent PARENT. Returns false when
 * the kernel refuses a part that every kernel has (seccomp): then do not go on. */
bool dwarf_sandbox_enter(int socket, int parent, uint64_t memory, uint64_t seconds);

#endif
