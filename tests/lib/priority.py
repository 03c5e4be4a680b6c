"""The priority of test files that compute for long beside files that measure time.

SPDX-License-Identifier: MIT
"""
import os

LOWEST = 15


def lower(nice=LOWEST, pid=0):
    """Lowers the priority of process PID (0: this one) and of all that it starts. tests/run starts each file in a session of its
    own, and with sched_autogroup_enabled, nice values compare only processes of one session: sessions have their own."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    try:
        with open(f"/proc/{pid or 'self'}/autogroup", "w", encoding="ascii") as group:
            group.write(str(nice))
    except OSError:  # a kernel without groups of sessions
        pass
