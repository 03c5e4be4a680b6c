/* The interface between funcmeter and its preload library: counters in a memory file, requests on a socket.
 *
 *   the memory file:  meter_header, then METER_THREADS blocks of { meter_thread, METER_FUNCTIONS meter_records },
 *                     then histograms and tables of arcs, handed out one by one, and METER_INTERVALS meter_intervals
 *   the socket:       the library sends a meter_request for each ELF file that was loaded; funcmeter answers with a
 *                     meter_plan, patches, thunks and the bytes of the pool
 *
 * The file is sparse: only pages that are written use memory. It belongs to funcmeter, so that counters survive
 * whatever happens to the program. The library uses no other library, and only these types.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_SHARED_H
#define RECORD_FUNCMETER_SHARED_H

#include <stdint.h>

#include "base/log_buckets.h"

#define METER_ENVIRONMENT                                                                          \
    "PBIN_FUNCMETER" /* "PID FD SOCKET": the memory file, and the abstract socket's name */
#define METER_MAGIC UINT32_C(0x4d465031)

/* The e_machine of ELF files for this architecture; 0: it is not supported. */
#if defined __x86_64__
#define METER_MACHINE      62
#define METER_MACHINE_NAME "x86-64"
#elif defined __aarch64__
#define METER_MACHINE      183
#define METER_MACHINE_NAME "aarch64"
#else
#define METER_MACHINE      0
#define METER_MACHINE_NAME "x86-64 or aarch64"
#endif

enum {
    METER_FUNCTIONS = 1 << 18, /* number 0 is the library's own, for calibration */
    METER_THREADS = 4096,
    METER_PAGE = 4096,
    METER_MAX_CODE = 24,    /* bytes of a function that a patch compares and replaces */
    METER_RESOLVERS = 1024, /* of a file */
    METER_ARCS = 1 << 17,   /* of a thread */
    METER_INTERVALS = 1 << 27,
    METER_SITE_BITS = 48 /* of an address */
};

/* A function in a thread. Times are in ticks. */
struct meter_record {
    uint64_t calls;
    uint64_t returned;    /* exits by return */
    uint64_t unwound;     /* exits by an exception, longjmp or the end of the thread */
    uint64_t untimed;     /* calls whose exit is not watched */
    uint64_t inclusive;   /* of outermost calls: a recursion counts once */
    uint64_t self;        /* without watched calls within */
    uint64_t total;       /* of all calls that returned */
    uint64_t least, most; /* of calls that returned; most 0 and least 0: none yet */
    uint64_t histogram;   /* its place in the file, 0: none */
    uint64_t depth;       /* calls of it that the thread is in */
    uint64_t spare[5];
};

struct meter_thread {
    uint32_t pid, tid;
    uint32_t used;   /* 0: free */
    uint32_t shared; /* by several threads, one after the other */
    char name[16];
    char program[200]; /* base name of the executable */
    uint64_t arcs;     /* place of its table in the file, 0: none */
};

/* Calls of a function from one place: an entry of a hash table. */
struct meter_arc {
    uint64_t
        site; /* the return address, and above METER_SITE_BITS how often files were unloaded before; 0: free */
    uint64_t address; /* the same in the file */
    uint32_t module;  /* the file: a number of a meter_plan; METER_NO_MODULE: none */
    uint32_t function;
    uint64_t calls;
};
#define METER_NO_MODULE UINT32_MAX

/* A long call that was not recursive, for its energy. Times are in ticks. */
struct meter_interval {
    uint64_t start, end;
    uint32_t function;
    uint32_t block; /* of the thread */
    uint64_t ready; /* 1: written */
};

struct meter_block {
    union {
        struct meter_thread thread;
        uint8_t page[METER_PAGE];
    };
    struct meter_record records[METER_FUNCTIONS];
};

struct meter_header {
    uint32_t magic;
    uint32_t timing;         /* 0: count entries only */
    uint32_t tsc;            /* 1: ticks of the time-stamp counter; 0: ns of CLOCK */
    uint32_t clock;          /* clockid_t */
    uint32_t listing;        /* the program ends before its first instruction */
    uint64_t units_per_tick; /* [2^-32 units of base/log_buckets.h] */
    uint64_t histograms;     /* place of the first in the file */
    uint64_t end;            /* of the histograms */
    uint64_t shortest;       /* interval that is noted [ticks]; 0: none is */
    uint32_t functions;      /* so far, with number 0 */
    uint32_t callers;        /* 1: arcs are counted */
    uint32_t machine;        /* METER_MACHINE of funcmeter, whose ticks are meant */
    /* written by the library */
    uint64_t next_histogram; /* place of the next one */
    uint32_t next_thread;    /* blocks handed out; may exceed METER_THREADS */
    uint32_t processes;      /* programs that loaded the library */
    uint64_t lost;           /* threads without a block: their calls are not counted */
    uint64_t next_interval;  /* intervals noted; may exceed METER_INTERVALS */
    uint64_t lost_arcs;      /* calls whose arc found no room in its table */
    uint64_t cost_inside; /* of a hook, within the time of the call [ticks]; 0 until calibrated */
    uint64_t cost_total;  /* of a hook [ticks] */
    uint64_t
        cost_read; /* of reading the system's clock, once in the former and twice in the latter [ticks] */
    uint64_t calibrated; /* METER_MACHINE of the library that measured these */
    uint64_t too_deep;   /* calls that did not fit on a thread's stack of frames */
    uint64_t
        failed; /* ELF files for which the library could not reach funcmeter or change the code */
    uint64_t changed; /* functions whose code was not that of the file */
};

#define METER_BLOCKS_AT ((uint64_t)1 << 20)
#define METER_INTERVALS_AT                                                                         \
    (METER_BLOCKS_AT + (uint64_t)METER_THREADS * sizeof(struct meter_block) + ((uint64_t)64 << 30))
#define METER_FILE_SIZE                                                                            \
    (METER_INTERVALS_AT + (uint64_t)METER_INTERVALS * sizeof(struct meter_interval))

/* What a hook does besides counting. */
enum meter_kind {
    METER_TIMED = 1,      /* watch the exit */
    METER_UNWIND = 2,     /* an unwinder: put the return addresses back */
    METER_FORCED = 4,     /* it will leave all functions */
    METER_CATCH = 8,      /* a landing pad: watch exits again */
    METER_BACKTRACE = 16, /* an unwinder that returns */
    METER_JUMP = 32,      /* longjmp */
    METER_LOADED = 64     /* the dynamic loader has changed its list */
};

struct meter_request {
    uint32_t magic;
    uint32_t pid;
    uint64_t bias;  /* added to the addresses of the file */
    uint64_t pool;  /* where the pool is; 0: only its size is requested */
    uint64_t enter; /* code that thunks jump to */
    uint32_t first_thunk;
    uint32_t is_program;
    uint32_t linked;   /* its own code may be executed already */
    uint32_t resolved; /* addresses that follow: what the resolvers of the plan have returned */
    char path[4096];
};

struct meter_plan {
    uint32_t magic;
    uint32_t patches; /* that follow */
    uint32_t thunks;  /* that follow them */
    uint32_t
        resolvers; /* that follow, and nothing else: addresses of functions to call, for another request */
    uint64_t low, high; /* addresses of the code in memory */
    uint32_t module;    /* number of the file */
    uint32_t spare;
    uint64_t parts; /* that the code has */
    uint64_t reach; /* how far apart code and pool may be [bytes] */
    uint64_t
        pool_size; /* bytes that follow the thunks; all that follows only if a pool was given */
};

struct meter_patch {
    uint64_t address;
    uint8_t length, old[METER_MAX_CODE], new[METER_MAX_CODE];
    uint8_t spare[7];
};

struct meter_thunk {
    uint64_t resume; /* where the function continues */
    uint32_t function;
    uint32_t kind;
};

#endif
