/* The interface between funcmeter and its preload library: counters in a memory file, requests on a socket.
 *
 *   the memory file:  meter_header, then METER_MAX_THREADS blocks of { meter_thread,
 *                     METER_MAX_FUNCTIONS meter_records }, then histograms and tables of arcs,
 *                     handed out one by one, and METER_MAX_INTERVALS meter_intervals
 *   the socket:       the library sends a meter_request for each ELF file that was loaded; funcmeter answers with a
 *                     meter_plan, patches, thunks and the bytes of the pool
 *
 * The file is sparse: only pages that are written use memory. It belongs to funcmeter, so that
 * counters survive however the program ends. The library uses no other library, and only these
 * types.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_SHARED_H
#define RECORD_FUNCMETER_SHARED_H

#include <stdint.h>

#include "base/log_buckets.h"

#define METER_ENVIRONMENT                                                                          \
    "PBIN_FUNCMETER" /* "PID FD SOCKET": the memory file, and the name of the abstract socket */
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
    METER_MAX_FUNCTIONS = 1 << 18, /* including number 0 of the library, for calibration */
    METER_MAX_THREADS = 4096,
    METER_PAGE = 4096,
    METER_MAX_CODE = 24,        /* bytes of a function that a patch compares and replaces */
    METER_MAX_RESOLVERS = 1024, /* per file */
    METER_MAX_ARCS = 1 << 17,   /* per thread */
    METER_MAX_INTERVALS = 1 << 27,
    METER_SITE_BITS = 48 /* number of bits of an address */
};

/* A function in a thread. Times are in ticks. */
struct meter_record {
    uint64_t calls;
    uint64_t returned;    /* exits by return */
    uint64_t unwound;     /* exits by an exception, longjmp or the end of the thread */
    uint64_t untimed;     /* number of calls whose exit is not watched */
    uint64_t inclusive;   /* time of outermost calls: a recursion counts once */
    uint64_t self;        /* time without watched calls within */
    uint64_t total;       /* time of all calls that returned */
    uint64_t least, most; /* of the calls that returned; both 0: none yet */
    uint64_t histogram;   /* its place in the file; 0: none */
    uint64_t depth;       /* number of its calls that the thread is in */
    uint64_t spare[5];
};

struct meter_thread {
    uint32_t pid, tid;
    uint32_t used;   /* 0: free */
    uint32_t shared; /* used by several threads, one after another */
    char name[16];
    char program[200]; /* base name of the executable */
    uint64_t arcs;     /* place of its table in the file; 0: none */
};

/* Calls of a function from one place: an entry of a hash table. */
struct meter_arc {
    /* the return address, and above METER_SITE_BITS, how often files had been unloaded before;
     * 0: free */
    uint64_t site;
    uint64_t address; /* the return address in the file */
    uint32_t module;  /* number of the file in a meter_plan; METER_NO_MODULE: none */
    uint32_t function;
    uint64_t calls;
};
#define METER_NO_MODULE UINT32_MAX

/* A long call that was not recursive, to determine its energy. Times are in ticks. */
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
    struct meter_record records[METER_MAX_FUNCTIONS];
};

struct meter_header {
    uint32_t magic;
    uint32_t timing;         /* 0: only entries are counted */
    uint32_t tsc;            /* 1: ticks of the time-stamp counter; 0: ns of CLOCK */
    uint32_t clock;          /* clockid_t */
    uint32_t listing;        /* the program ends before its first instruction */
    uint64_t units_per_tick; /* [2^-32 units of base/log_buckets.h] */
    uint64_t histograms;     /* place of the first one in the file */
    uint64_t end;            /* of the histograms */
    uint64_t shortest;       /* minimum length of intervals that are noted [ticks]; 0: none are */
    uint32_t functions;      /* number of functions so far, including number 0 */
    uint32_t callers;        /* 1: arcs are counted */
    uint32_t machine;        /* METER_MACHINE of funcmeter, which determines the ticks */
    /* written by the library */
    uint64_t next_histogram; /* place of the next histogram */
    uint32_t next_thread;    /* number of blocks handed out; may exceed METER_MAX_THREADS */
    uint32_t processes;      /* number of programs that loaded the library */
    uint64_t lost;           /* number of threads without a block: their calls are not counted */
    uint64_t next_interval;  /* number of intervals noted; may exceed METER_MAX_INTERVALS */
    uint64_t lost_arcs;      /* number of calls whose arc found no room in its table */
    /* cost of a hook within the time of the call [ticks]; 0 until calibrated */
    uint64_t cost_inside;
    uint64_t cost_total; /* total cost of a hook [ticks] */
    /* cost of reading the system's clock, included once in cost_inside and twice in cost_total
     * [ticks] */
    uint64_t cost_read;
    uint64_t calibrated; /* METER_MACHINE of the library that measured these costs */
    uint64_t too_deep;   /* number of calls that did not fit on a thread's stack of frames */
    /* number of ELF files for which the library could not reach funcmeter or change the code */
    uint64_t failed;
    uint64_t changed; /* number of functions whose code was not that of the file */
};

#define METER_BLOCKS_AT ((uint64_t)1 << 20)
#define METER_INTERVALS_AT                                                                         \
    (METER_BLOCKS_AT + (uint64_t)METER_MAX_THREADS * sizeof(struct meter_block) +                  \
     ((uint64_t)64 << 30))
#define METER_FILE_SIZE                                                                            \
    (METER_INTERVALS_AT + (uint64_t)METER_MAX_INTERVALS * sizeof(struct meter_interval))

/* The effects of a hook in addition to counting. */
enum meter_kind {
    METER_TIMED = 1,      /* watches the exit */
    METER_UNWIND = 2,     /* of an unwinder: puts the return addresses back */
    METER_FORCED = 4,     /* of an unwinder that will leave all functions */
    METER_CATCH = 8,      /* of a landing pad: watches exits again */
    METER_BACKTRACE = 16, /* of an unwinder that returns */
    METER_JUMP = 32,      /* of longjmp */
    METER_LOADED = 64     /* of the dynamic loader: its list has changed */
};

struct meter_request {
    uint32_t magic;
    uint32_t pid;
    uint64_t bias;  /* to be added to addresses of the file */
    uint64_t pool;  /* address of the pool; 0: only its size is requested */
    uint64_t enter; /* address of the code that thunks jump to */
    uint32_t first_thunk;
    uint32_t is_program;
    uint32_t linked; /* its own code may already be executed */
    /* number of addresses that follow: the results of the resolvers of the plan */
    uint32_t resolved;
    char path[4096];
};

struct meter_plan {
    uint32_t magic;
    uint32_t patches; /* number of patches that follow */
    uint32_t thunks;  /* number of thunks that follow the patches */
    /* number of addresses of functions that follow; if there are any, nothing else follows: they
     * must be called for another request */
    uint32_t resolvers;
    uint64_t low, high; /* addresses of the code in memory */
    uint32_t module;    /* number of the file */
    uint32_t spare;
    uint64_t parts; /* number of parts of the code */
    uint64_t reach; /* maximum distance between code and pool [bytes] */
    /* number of bytes that follow the thunks; patches, thunks and bytes follow only if a pool
     * was given */
    uint64_t pool_size;
};

struct meter_patch {
    uint64_t address;
    uint8_t length, old[METER_MAX_CODE], new[METER_MAX_CODE];
    uint8_t spare[7];
};

struct meter_thunk {
    uint64_t resume; /* address at which the function continues */
    uint32_t function;
    uint32_t kind;
};

#endif
