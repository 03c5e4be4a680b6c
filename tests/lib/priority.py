"""The priority of test files that compute for a long time while other files measure time.

SPDX-License-Identifier: MIT
"""
import os

LOWEST = 15


def lower(nice=LOWEST, pid=0):
    """Lowers the priority of process PID (0: this one) and of all that it starts. tests/run starts
    each file in a separate session. With sched_autogroup_enabled, nice values are only compared
    within a session, and each session also has a nice value."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    try:
        with open(f"/proc/{pid or 'self'}/autogroup", "w", encoding="ascii") as group:
            group.write(str(nice))
    except OSError:  # a kernel without autogroups
        pass
