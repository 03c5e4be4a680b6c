"""The priority of test files that compute for long while other files measure time.

SPDX-License-Identifier: MIT
"""
import os

LOWEST = 15


def lower(nice=LOWEST, pid=0):
    """Lowers the priority of process PID (0: this one) and of all that it starts. tests/run starts
    each file in a session of its own. With sched_autogroup_enabled, nice values are only compared
    within a session; sessions have nice values of their own."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    try:
        with open(f"/proc/{pid or 'self'}/autogroup", "w", encoding="ascii") as group:
            group.write(str(nice))
    except OSError:  # a kernel without autogroups
        pass
