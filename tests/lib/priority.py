"""The priority of test files that compute for long beside files that measure time.

SPDX-License-Identifier: MIT
"""
import os

NICE = 10


def lower():
    """Lowers the priority of this process and all that it starts. tests/run starts each file in a session of its own, and
    with sched_autogroup_enabled, nice values compare only processes of one session: sessions have their own."""
    os.nice(NICE)
    try:
        with open("/proc/self/autogroup", "w") as group:
            group.write(str(NICE))
    except OSError:  # a kernel without groups of sessions
        pass
