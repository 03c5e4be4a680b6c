/* The preload library of funcmeter: counts and times calls inside the program.
 *
 * It is loaded before all other libraries, uses none of them, and is initialized first. For each
 * ELF file, it asks funcmeter what to patch. A patched function begins with a jump to its thunk in
 * a pool nearby:
 *
 *   function:  jmp thunk           thunk:      push number        enter:  save registers
 *              ...                           jmp enter                  meter_enter(slot, number, back)
 *                                 moved:     its first instructions     restore; jump to moved
 *                                            jmp function + n
 *
 * meter_enter notes the call in a stack of frames of the thread, and replaces the return address by
 * the address of code that calls meter_leave and continues at the previous return address.
 *
 * Frames whose slot is below that of a new call were left without a return (longjmp). Unwinders
 * must see the true return addresses: hooks in them restore these, and the hook of
 * __cxa_begin_catch replaces them again. Frames that seem to have been left are dropped, and kept in
 * a table by slot, because the program may only have been on another stack, that of a signal handler
 * or a coroutine.
 *
 * SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "record/funcmeter/preload.h"
#include "record/funcmeter/ticks.h"

/* A frame that was probably left without a return. */
struct dropped_frame {
    uint64_t *slot; /* NULL: free */
    uint64_t back;
    uint64_t start;
    uint32_t function;
    bool inherited;
};

enum {
    FRAMES = 1 << 18, /* per thread */
    DROPPED_FRAMES = 1 << 12,
    PROBES = 8,
    ARC_PROBES = 256,
    MODULES = 4096,
    THUNKS = 1 << 20,
    CALIBRATIONS = 32,
    CALIBRATION_CALLS = 256,
    READ_PERIOD = 50000 /* [ns] */
};

/* State of the process: the library has no caller that could own it. */
struct process {
    uint32_t *id;                /* in a page that becomes zero in a child after a fork */
    uint8_t *file;               /* the memory file; NULL: not used */
    struct meter_header *header; /* at the beginning of FILE */
    struct meter_thunk *thunks;
    uint32_t thunk_count;
    uint32_t module_count;
    /* code of the program or its libraries has run; files that are found from now on are not
     * relocated yet */
    bool started;
    uint32_t unloaded; /* how often files were unloaded */
    uint64_t page;     /* page size of the system [bytes] */
    struct loaded {
        uint64_t bias;
        const void *dynamic; /* NULL: unloaded */
        uint64_t low, high;  /* addresses of its code */
        uint32_t number;
    } modules[MODULES];
    struct sockaddr_un socket;
    uint32_t socket_size;
    char program[4096];
};

INTERNAL struct process meter_process;
static __thread struct state thread __attribute__((tls_model("initial-exec")));

/* The compiler may call these. */
INTERNAL void *memset(void *to, int byte, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

INTERNAL void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

static long call3(long number, long a, long b, long c)
{
    return meter_call6(number, a, b, c, 0, 0, 0);
}

/* Maps anonymous private memory. Returns NULL on failure. */
static void *map(uint64_t size)
{
    long at = meter_call6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at < 0 && at > -METER_PAGE ? NULL : (void *)at;
}

static bool copy_text(char *to, size_t size, const char *from)
{
    size_t i = 0;
    while (i + 1 < size && from[i] != '\0') {
        to[i] = from[i];
        i++;
    }
    to[i] = '\0';
    return from[i] == '\0';
}

/* A message for users; the text is a literal. */
#define SAY(text)                                                                                  \
    call3(SYS_write, 2, (long)("funcmeter: " text "\n"), sizeof("funcmeter: " text "\n") - 1)

static inline uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t now(void)
{
    if (meter_process.header->tsc)
        return ticks_now();
    struct timespec time = {0, 0};
    call3(SYS_clock_gettime, meter_process.header->clock, (long)&time, 0);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static inline void barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ---- threads ---- */

static struct meter_block *block_at(uint32_t number)
{
    return (struct meter_block *)(meter_process.file + METER_BLOCKS_AT) + number;
}

/* Returns whether the thread that uses the block has ended. */
static bool is_gone(const struct meter_thread *owner)
{
    return call3(SYS_tgkill, owner->pid, owner->tid, 0) == -ESRCH;
}

/* Finds a block for a thread: a new one, or if none are left, that of a thread that has ended. */
static struct meter_block *find_block(void)
{
    struct meter_header *header = meter_process.header;
    uint32_t number = __atomic_fetch_add(&header->next_thread, 1, __ATOMIC_RELAXED);
    if (number < METER_MAX_THREADS)
        return block_at(number);
    __atomic_store_n(&header->next_thread, METER_MAX_THREADS, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < METER_MAX_THREADS; i++) {
        struct meter_thread *owner = &block_at(i)->thread;
        uint32_t used = 1;
        if (__atomic_load_n(&owner->used, __ATOMIC_ACQUIRE) == 1 && is_gone(owner) &&
            __atomic_compare_exchange_n(&owner->used, &used, 2, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            owner->shared = 1;
            for (uint32_t k = 0; k < header->functions; k++)
                /* discards the calls that were active when the thread ended */
                block_at(i)->records[k].depth = 0;
            return block_at(i);
        }
    }
    return NULL;
}

static void name_block(struct meter_block *block, uint32_t pid)
{
    struct meter_thread *owner = &block->thread;
    const char *base = meter_process.program;
    for (const char *at = base; *at != '\0'; at++)
        if (*at == '/')
            base = at + 1;
    copy_text(owner->program, sizeof owner->program, base);
    call3(SYS_prctl, PR_GET_NAME, (long)owner->name, 0);
    owner->pid = pid;
    owner->tid = (uint32_t)call3(SYS_gettid, 0, 0, 0);
    __atomic_store_n(&owner->used, 1, __ATOMIC_RELEASE);
}

/* Returns the table of arcs of the thread with BLOCK, or NULL. */
static struct meter_arc *find_arcs(struct meter_block *block)
{
    struct meter_header *header = meter_process.header;
    const uint64_t size = METER_MAX_ARCS * sizeof(struct meter_arc);
    uint64_t *at = &block->thread.arcs;
    if (!header->callers)
        return NULL;
    if (*at == 0) {
        uint64_t place = __atomic_fetch_add(&header->next_histogram, size, __ATOMIC_RELAXED);
        if (place + size > header->end)
            return NULL;
        *at = place;
    }
    return (struct meter_arc *)(meter_process.file + *at);
}

/* Sets the costs of hooks of the thread, given READ, the cost of reading the system's clock. Both
 * costs include it. */
static void set_costs(struct state *t, uint64_t read)
{
    const struct meter_header *header = meter_process.header;
    const uint64_t change = header->cost_read != 0 ? read - header->cost_read : 0;
    t->read = read;
    t->cost_inside = header->cost_inside + change;
    t->cost_total = header->cost_total + 2 * change;
}

/* Returns the time by the system's clock, for the new last frame. The cost of reading it depends on
 * what else the system does, for CPU time by a factor of two. Therefore, it is occasionally read a
 * second time; the time for that is a cost of the caller. */
__attribute__((noinline)) static uint64_t read_slow_clock(struct state *t)
{
    const uint64_t first = now();
    if (first - t->read_at < READ_PERIOD)
        return first;
    const uint64_t second = now(), cost = second - first;
    if (t->count > 1)
        t->frames[t->count - 2].cost += cost;
    t->read_again += cost;
    t->read_at = second;
    /* if it was interrupted, at most twice the usual cost counts */
    const uint64_t usual = t->read != 0 ? t->read : cost, most = 2 * usual;
    set_costs(t, usual - usual / 4 + (cost < most ? cost : most) / 4);
    return second;
}

/* Gives the thread its block; after a fork, a new one. Returns whether it has one. */
__attribute__((noinline, cold)) static bool adopt(struct state *t)
{
    uint64_t all = ~UINT64_C(0), before = 0;
    if (meter_process.file == NULL)
        return false;
    meter_call6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof all, 0, 0);
    uint32_t pid = (uint32_t)call3(SYS_getpid, 0, 0, 0);
    struct meter_block *block = find_block();
    if (block == NULL) {
        __atomic_fetch_add(&meter_process.header->lost, 1, __ATOMIC_RELAXED);
    } else {
        name_block(block, pid);
        t->records = block->records;
        t->arcs = find_arcs(block);
        for (uint64_t i = 0; i < t->count; i++)
            t->frames[i].inherited = true;
        if (t->frames == NULL && meter_process.header->timing) {
            t->frames = map(FRAMES * sizeof *t->frames);
            t->dropped = map(DROPPED_FRAMES * sizeof *t->dropped);
        }
        t->page = meter_process.page;
        if (t->read == 0)
            set_costs(t, meter_process.header->cost_read);
        *meter_process.id = pid;
        barrier();
        t->process = pid;
    }
    meter_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
    return block != NULL;
}

/* ---- frames ---- */

static struct dropped_frame *find_dropped(struct state *t, const uint64_t *slot)
{
    uint64_t hash = ((uint64_t)slot >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 52;
    struct dropped_frame *free = &t->dropped[hash % DROPPED_FRAMES];
    for (uint64_t i = 0; i < PROBES; i++) {
        struct dropped_frame *dropped = &t->dropped[(hash + i) % DROPPED_FRAMES];
        if (dropped->slot == slot)
            return dropped;
        if (dropped->slot == NULL && free->slot != NULL)
            free = dropped;
    }
    return free;
}

static void add_to_histogram(struct meter_record *r, uint64_t ticks)
{
    struct meter_header *header = meter_process.header;
    if (r->histogram == 0) {
        uint64_t size = LOG_BUCKETS * sizeof(uint64_t);
        uint64_t at = __atomic_fetch_add(&header->next_histogram, size, __ATOMIC_RELAXED);
        if (at + size > header->end)
            return;
        r->histogram = at;
    }
    uint64_t units = (uint64_t)((unsigned __int128)ticks * header->units_per_tick >> 32);
    ((uint64_t *)(meter_process.file + r->histogram))[log_bucket(units)]++;
}

/* Notes a call, whose energy is determined later. */
__attribute__((noinline, cold)) static void note_interval(const struct state *t,
                                                          const struct frame *f, uint64_t end)
{
    struct meter_header *header = meter_process.header;
    uint64_t number = __atomic_fetch_add(&header->next_interval, 1, __ATOMIC_RELAXED);
    if (number >= METER_MAX_INTERVALS)
        return;
    struct meter_interval *interval =
        (struct meter_interval *)(meter_process.file + METER_INTERVALS_AT) + number;
    interval->start = f->start;
    interval->end = end;
    interval->function = f->function;
    interval->block =
        (uint32_t)(((uint64_t)t->records - (uint64_t)block_at(0)) / sizeof(struct meter_block));
    __atomic_store_n(&interval->ready, 1, __ATOMIC_RELEASE);
}

/* Ends FRAME, which was the last, at time END. If hooks cost less than usual, a call still takes at
 * least as long as the watched calls within it: the actual cost is charged to its caller. */
static inline void close_frame(struct state *t, const struct frame *f, uint64_t end, bool returned)
{
    const struct meter_header *header = meter_process.header;
    struct meter_record *r = &t->records[f->function];
    const uint64_t took = less(end, f->start);
    uint64_t elapsed = less(took, f->cost + t->cost_inside);
    if (elapsed < f->child)
        elapsed = f->child;
    if (t->count > 0) {
        struct frame *parent = &t->frames[t->count - 1];
        parent->child += elapsed;
        parent->cost += less(took, elapsed) + less(t->cost_total, t->cost_inside);
    }
    if (f->inherited)
        return;
    r->self += elapsed - f->child;
    if (--r->depth == 0) {
        r->inclusive += elapsed;
        if (header->shortest != 0 && less(end, f->start) >= header->shortest)
            note_interval(t, f, end);
    }
    if (!returned) {
        r->unwound++;
        return;
    }
    if (r->returned++ == 0 || elapsed < r->least)
        r->least = elapsed;
    if (elapsed > r->most)
        r->most = elapsed;
    r->total += elapsed;
    add_to_histogram(r, elapsed);
}

static inline struct frame pop_frame(struct state *t)
{
    struct frame f = t->frames[t->count - 1];
    t->current = f.function;
    barrier();
    t->count--;
    return f;
}

/* Handles a hook that was abandoned by a signal handler, perhaps while the hook was changing the
 * depth of its function. */
static void end_hook(struct state *t)
{
    uint64_t depth = 0;
    for (uint64_t i = 0; i < t->count; i++)
        depth += t->frames[i].function == t->current && !t->frames[i].inherited;
    t->records[t->current].depth = depth;
    t->busy = false;
}

/* Drops the last frame, which seems to have been left without a return. */
static void drop_last(struct state *t, uint64_t time)
{
    struct frame f = pop_frame(t);
    uint64_t end = t->left > f.start && t->left < time ? t->left : time;
    struct dropped_frame *dropped = find_dropped(t, f.slot);
    *dropped = (struct dropped_frame){f.slot, f.back, f.start, f.function, f.inherited};
    close_frame(t, &f, end, false);
}

/* Returns whether OTHER and SLOT are on different stacks, which means that only one of them is on
 * the stack for signal handlers that the thread uses. */
static bool other_stack(const uint64_t *slot, const uint64_t *other)
{
    stack_t stack = {0};
    if (call3(SYS_sigaltstack, 0, (long)&stack, 0) != 0 || !(stack.ss_flags & SS_ONSTACK))
        return false;
    uint64_t low = (uint64_t)stack.ss_sp, high = low + stack.ss_size;
    bool on = (uint64_t)slot >= low && (uint64_t)slot < high;
    return on != ((uint64_t)other >= low && (uint64_t)other < high);
}

/* Drops frames that were left before the call with SLOT and the return address BACK. */
__attribute__((noinline)) static void drop_stale(struct state *t, const uint64_t *slot,
                                                 uint64_t back)
{
    while (t->count > 0) {
        const struct frame *f = &t->frames[t->count - 1];
        bool tail = f->slot == slot && meter_is_return(back);
        if (f->slot > slot || tail || other_stack(slot, f->slot))
            return;
        drop_last(t, now());
    }
}

/* Drops the frames that are abandoned by a longjmp that was called with SLOT and BACK. */
static void drop_left(struct state *t, const uint64_t *slot, const uint64_t *back)
{
    uint64_t *target = meter_jump_target(back);
    bool off = other_stack(slot, target); /* it leaves the stack for signal handlers */
    while (t->count > 0) {
        uint64_t *other = t->frames[t->count - 1].slot;
        if (other_stack(target, other) ? !off : other >= target)
            return;
        drop_last(t, t->left);
    }
}

/* The unwinder will leave all functions and end the thread. */
static void leave_all(struct state *t)
{
    uint64_t time = now();
    while (t->count > 0) {
        struct frame f = pop_frame(t);
        close_frame(t, &f, time, false);
    }
}

/* ---- modules ---- */

static void find_modules(void);

/* The callback that the program passes to _Unwind_Backtrace, which backtrace_instead replaces. */
struct callback {
    int (*call)(void *context, void *argument);
    void *argument;
    bool first; /* the next frame is the first one, which is our own */
};

static int next_frame(void *context, void *opaque)
{
    struct callback *callback = opaque;
    if (!callback->first)
        return callback->call(context, callback->argument);
    callback->first = false;
    return 0;
}

static int backtrace_instead(int (*call)(void *, void *), void *argument)
{
    struct callback callback = {call, argument, true};
    int (*original)(int (*)(void *, void *), void *) =
        (int (*)(int (*)(void *, void *), void *))thread.backtrace;
    int result = original(next_frame, &callback);
    thread.busy = true;
    barrier();
    meter_take_again(&thread);
    barrier();
    thread.busy = false;
    return result;
}

/* Handles hooks that do more than counting. Returns where to continue. */
__attribute__((noinline)) static uint64_t
enter_special(struct state *t, uint64_t *slot, uint64_t *back, const struct meter_thunk *thunk)
{
    uint64_t resume = thunk->resume;
    if (thunk->kind & METER_LOADED)
        find_modules();
    if (t->frames == NULL)
        return resume;
    if (thunk->kind & METER_JUMP) {
        if (t->busy)
            end_hook(t);
        t->left = now();
    }
    if (t->busy)
        return resume;
    t->busy = true;
    barrier();
    if (thunk->kind & METER_JUMP)
        drop_left(t, slot, back);
    if (thunk->kind & METER_UNWIND) {
        drop_stale(t, slot, *back);
        t->left = now();
        t->unwinder = slot;
        meter_put_back(t, slot, back);
        if (thunk->kind & METER_FORCED)
            leave_all(t);
        if (thunk->kind & METER_BACKTRACE) {
            t->backtrace = resume;
            resume = (uint64_t)backtrace_instead;
        }
    }
    if (thunk->kind & METER_CATCH) {
        drop_stale(t, slot, *back);
        meter_take_again(t);
    }
    barrier();
    t->busy = false;
    return resume;
}

static inline void push_frame(struct state *t, uint64_t *slot, uint64_t *back,
                              const struct meter_thunk *thunk)
{
    uint32_t function = thunk->function;
    struct meter_record *r = &t->records[function];
    if (t->restored && slot >= t->unwinder)
        meter_take_again(t);
    if (t->count > 0 && t->frames[t->count - 1].slot <= slot)
        drop_stale(t, slot, *back);
    if (t->count == FRAMES) {
        r->untimed++;
        __atomic_fetch_add(&meter_process.header->too_deep, 1, __ATOMIC_RELAXED);
        return;
    }
    struct frame *f = &t->frames[t->count];
    f->slot = slot;
    f->back = *back;
    f->function = function;
    f->inherited = false;
    f->restored = false;
    f->child = 0;
    f->cost = 0;
    t->current = function;
    barrier();
    r->depth++;
    t->count++;
    meter_watch(t, f, thunk->resume, back);
    barrier();
    f->start = meter_process.header->tsc ? ticks_now() : read_slow_clock(t);
}

/* Returns the return address BACK of a call with SLOT, or the true one if it was replaced; 0:
 * unknown. */
static uint64_t true_address(const struct state *t, const uint64_t *slot, uint64_t back)
{
    for (uint64_t i = t->count; meter_is_return(back) && i > 0; i--)
        if (t->frames[i - 1].slot == slot)
            back = t->frames[i - 1].back;
    return !meter_is_return(back) ? back : 0;
}

/* Records in which file the new ARC is. */
__attribute__((noinline, cold)) static void place_arc(struct meter_arc *arc, uint64_t address)
{
    const struct process *p = &meter_process;
    arc->module = METER_NO_MODULE;
    for (uint32_t i = 0; i < p->module_count; i++)
        if (p->modules[i].dynamic != NULL && address > p->modules[i].low &&
            address <= p->modules[i].high) {
            arc->module = p->modules[i].number;
            arc->address = address - p->modules[i].bias;
        }
}

/* Counts a call of FUNCTION by its caller. A signal handler may do this at the same time. */
__attribute__((noinline)) static void count_arc(struct state *t, const uint64_t *slot,
                                                uint64_t back, uint32_t function)
{
    const uint64_t address = true_address(t, slot, back);
    const uint64_t site = address | (uint64_t)(meter_process.unloaded % UINT16_MAX + 1)
                                        << METER_SITE_BITS;
    const uint64_t hash = (site ^ (uint64_t)function << 24) * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    for (uint64_t i = 0; i < ARC_PROBES; i++) {
        struct meter_arc *arc = &t->arcs[(hash + i) % METER_MAX_ARCS];
        uint64_t free = 0;
        if (arc->site == 0 && __atomic_compare_exchange_n(&arc->site, &free, site, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            place_arc(arc, address);
            arc->function = function;
        }
        if (arc->site == site && arc->function == function) {
            arc->calls++;
            return;
        }
    }
    __atomic_fetch_add(&meter_process.header->lost_arcs, 1, __ATOMIC_RELAXED);
}

uint64_t meter_enter(uint64_t *slot, uint64_t number, uint64_t *given)
{
    uint64_t *back = METER_BACK(slot, given);
    struct state *t = &thread;
    const struct meter_thunk *thunk = &meter_process.thunks[number];
    if (t->process != *meter_process.id || t->process == 0)
        if (!adopt(t))
            return thunk->resume;
    struct meter_record *r = &t->records[thunk->function];
    r->calls++;
    if (t->arcs != NULL && thunk->function != 0)
        count_arc(t, slot, *back, thunk->function);
    if (thunk->kind == METER_TIMED && !t->busy && t->frames != NULL) {
        t->busy = true;
        barrier();
        push_frame(t, slot, back, thunk);
        barrier();
        t->busy = false;
        return thunk->resume;
    }
    r->untimed++;
    if (thunk->kind & ~(uint32_t)METER_TIMED)
        return enter_special(t, slot, back, thunk);
    return thunk->resume;
}

/* Restores a frame that seemed to be abandoned, but was on another stack. */
__attribute__((noinline, cold)) static uint64_t take_back(struct state *t, uint64_t *slot)
{
    struct dropped_frame *dropped = find_dropped(t, slot);
    if (dropped->slot != slot) {
        SAY("a function that was never entered returned: the program switches stacks in a way that "
            "is not supported; use --count");
        call3(SYS_kill, call3(SYS_getpid, 0, 0, 0), SIGABRT, 0);
        call3(SYS_exit_group, 134, 0, 0);
    }
    if (!dropped->inherited) {
        struct meter_record *r = &t->records[dropped->function];
        r->unwound--;
        r->returned++;
    }
    dropped->slot = NULL;
    return dropped->back;
}

uint64_t meter_leave(uint64_t *slot, uint64_t ticks)
{
    struct state *t = &thread;
    uint64_t end = meter_process.header->tsc ? ticks : now(), back = 0;
    t->busy = true;
    barrier();
    if (t->process != *meter_process.id)
        adopt(t);
    uint64_t found = t->count;
    while (found > 0 && t->frames[found - 1].slot != slot)
        found--;
    while (found > 0 && t->count > found)
        drop_last(t, end);
    do {
        if (found == 0 || t->count == 0 || t->frames[t->count - 1].slot != slot) {
            back = take_back(t, slot);
            continue;
        }
        struct frame f = pop_frame(t);
        close_frame(t, &f, end, true);
        back = f.back;
    } while (meter_is_return(back));
    barrier();
    t->busy = false;
    return back;
}

/* ---- patching ---- */

/* Transfers all bytes with system call NUMBER, sendto or recvfrom, without the SIGPIPE that would end the program if
 * the launcher has ended. */
static bool transfer(int fd, void *data, uint64_t size, long number)
{
    while (size > 0) {
        long done = meter_call6(number, fd, (long)data, (long)size, MSG_NOSIGNAL, 0, 0);
        if (done == -EINTR)
            continue;
        if (done <= 0)
            return false;
        data = (uint8_t *)data + done;
        size -= (uint64_t)done;
    }
    return true;
}

static bool get(int fd, void *data, uint64_t size)
{
    return transfer(fd, data, size, SYS_recvfrom);
}

/* Sends REQUEST and the results that its resolvers have RETURNED, and receives PLAN. Returns the
 * socket, to receive what follows, or -1. */
static int ask(struct meter_request *request, uint64_t *returned, struct meter_plan *plan)
{
    int fd = (int)call3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (call3(SYS_connect, fd, (long)&meter_process.socket, meter_process.socket_size) == 0 &&
        transfer(fd, request, sizeof *request, SYS_sendto) &&
        transfer(fd, returned, request->resolved * sizeof *returned, SYS_sendto) &&
        get(fd, plan, sizeof *plan) && plan->magic == METER_MAGIC)
        return fd;
    call3(SYS_close, fd, 0, 0);
    return -1;
}

/* Maps SIZE bytes, from which every address from LOW to HIGH is within REACH: below LOW, where the
 * heap does not grow, or far above. Returns 0 if there is no room. */
static uint64_t find_pool(uint64_t low, uint64_t high, uint64_t size, uint64_t reach)
{
    const uint64_t step = (reach / 512 + 0xffff) & ~UINT64_C(0xffff);
    for (uint64_t i = 1; i < 1000; i++) {
        uint64_t candidates[2] = {low - size - i * step, high + reach - size - i * step};
        for (int k = 0; k < 2; k++) {
            uint64_t at = candidates[k] & ~(meter_process.page - 1);
            uint64_t span = k == 0 ? high - at : at + size - low;
            if (at > low + reach * 2 || at < UINT64_C(0x10000) || span > reach)
                continue;
            long got = meter_call6(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if ((uint64_t)got == at)
                return at;
            if (got > 0)
                call3(SYS_munmap, got, (long)size, 0);
        }
    }
    return 0;
}

static bool same(const uint8_t *a, const uint8_t *b, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Makes the pages of code from FIRST up to, but not including, END writable or not. */
static bool protect(uint64_t first, uint64_t end, bool writable)
{
    const uint64_t page = meter_process.page;
    first &= ~(page - 1);
    end = (end + page - 1) & ~(page - 1);
    return call3(SYS_mprotect, (long)first, (long)(end - first),
                 PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0)) == 0;
}

/* Changes the code if it is still that of the file. */
static void apply(const struct meter_patch *patch)
{
    uint8_t *code = (uint8_t *)patch->address;
    if (!same(code, patch->old, patch->length))
        meter_process.header->changed++;
    else
        meter_write_code(code, patch->new, patch->length);
}

/* PATCHES are in order of their addresses. */
static bool apply_all(const struct meter_plan *plan, const struct meter_patch *patches)
{
    uint32_t at_once = plan->parts == 1 ? plan->patches : 1;
    for (uint32_t i = 0; i < plan->patches; i += at_once) {
        const struct meter_patch *last = &patches[i + at_once - 1];
        if (!protect(patches[i].address, last->address + last->length, true))
            return false;
        for (uint32_t k = i; k < i + at_once; k++)
            apply(&patches[k]);
        protect(patches[i].address, last->address + last->length, false);
    }
    return true;
}

/* Receives patches, thunks and the pool. */
static bool receive(int fd, const struct meter_plan *plan, uint64_t pool)
{
    uint64_t size = (uint64_t)plan->patches * sizeof(struct meter_patch);
    struct meter_patch *patches = map(size);
    struct process *p = &meter_process;
    bool done = patches != NULL && get(fd, patches, size) &&
                get(fd, p->thunks + p->thunk_count, plan->thunks * sizeof *p->thunks) &&
                get(fd, (void *)pool, plan->pool_size) &&
                call3(SYS_mprotect, (long)pool, (long)plan->pool_size, PROT_READ | PROT_EXEC) == 0;
    if (done)
        p->thunk_count += plan->thunks;
    done = done && apply_all(plan, patches);
    if (patches != NULL)
        call3(SYS_munmap, (long)patches, (long)size, 0);
    return done;
}

/* Requests the PLAN of a file; if it depends on the results of resolvers, requests it again with
 * these results. */
static bool ask_twice(struct meter_request *request, struct meter_plan *plan)
{
    uint64_t addresses[METER_MAX_RESOLVERS] = {0};
    int fd = ask(request, NULL, plan);
    if (fd >= 0 && plan->resolvers > 0 && plan->resolvers <= METER_MAX_RESOLVERS) {
        bool got = get(fd, addresses, plan->resolvers * sizeof *addresses);
        call3(SYS_close, fd, 0, 0);
        if (!got)
            return false;
        for (uint32_t i = 0; i < plan->resolvers; i++)
            if (addresses[i] != 0)
                addresses[i] = ((uint64_t(*)(void))addresses[i])();
        request->resolved = plan->resolvers;
        fd = ask(request, addresses, plan);
        request->resolved = 0;
    }
    if (fd >= 0)
        call3(SYS_close, fd, 0, 0);
    return fd >= 0;
}

/* Makes a pool and changes the code according to PLAN. Meanwhile, another process may have added
 * functions to the plan. */
static bool change(struct meter_request *request, struct meter_plan *plan)
{
    enum { TRIES = 10 };
    bool done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        const struct meter_plan before = *plan;
        if (meter_process.thunk_count + plan->thunks > THUNKS)
            return false;
        request->pool = find_pool(plan->low, plan->high, plan->pool_size, plan->reach);
        int fd = request->pool != 0 ? ask(request, NULL, plan) : -1;
        if (fd < 0)
            return false;
        done = plan->thunks == before.thunks;
        if (done && !receive(fd, plan, request->pool))
            return false;
        if (!done)
            call3(SYS_munmap, (long)request->pool, (long)before.pool_size, 0);
        call3(SYS_close, fd, 0, 0);
    }
    return done;
}

/* Hooks the functions of an ELF file. */
static void add_module(struct loaded *loaded, const char *path, bool is_program)
{
    struct process *p = &meter_process;
    struct meter_request request;
    struct meter_plan plan = {0};
    request.magic = METER_MAGIC;
    request.pid = (uint32_t)call3(SYS_getpid, 0, 0, 0);
    request.bias = loaded->bias;
    request.enter = (uint64_t)meter_enter_code;
    request.first_thunk = p->thunk_count;
    request.is_program = is_program;
    request.linked = !p->started;
    request.resolved = 0;
    request.pool = 0;
    copy_text(request.path, sizeof request.path, path);
    if (!ask_twice(&request, &plan)) {
        p->header->failed++;
        return;
    }
    loaded->number = plan.module;
    loaded->low = plan.low;
    loaded->high = plan.high;
    if (plan.patches > 0 && !p->header->listing && !change(&request, &plan))
        p->header->failed++;
}

static bool is_known(const struct link_map *link)
{
    for (uint32_t i = 0; i < meter_process.module_count; i++)
        if (meter_process.modules[i].bias == link->l_addr &&
            meter_process.modules[i].dynamic == link->l_ld)
            return true;
    return false;
}

static void forget_unloaded(void)
{
    struct process *p = &meter_process;
    for (uint32_t i = 0; i < p->module_count; i++) {
        const struct link_map *link = _r_debug.r_map;
        while (link != NULL &&
               (link->l_addr != p->modules[i].bias || link->l_ld != p->modules[i].dynamic))
            link = link->l_next;
        if (link == NULL && p->modules[i].dynamic != NULL) {
            p->modules[i].dynamic = NULL;
            p->unloaded++;
        }
    }
}

/* Returns an entry for a file: a free one, or NULL. Other threads may also be looking for an
 * entry. */
static struct loaded *new_module(void)
{
    struct process *p = &meter_process;
    for (uint32_t i = 0; i < p->module_count; i++)
        if (p->modules[i].dynamic == NULL)
            return &p->modules[i];
    return p->module_count < MODULES ? &p->modules[p->module_count++] : NULL;
}

/* Hooks the files that were loaded since the last call. */
static void find_modules(void)
{
    const struct process *p = &meter_process;
    if (_r_debug.r_state != RT_CONSISTENT)
        return;
    forget_unloaded();
    for (const struct link_map *link = _r_debug.r_map; link != NULL; link = link->l_next) {
        bool is_program = link == _r_debug.r_map;
        if (link->l_ld == _DYNAMIC || is_known(link))
            continue;
        struct loaded *loaded = new_module();
        if (loaded == NULL)
            return;
        *loaded = (struct loaded){.bias = link->l_addr, .dynamic = link->l_ld};
        if (is_program || link->l_name[0] == '/' || link->l_name[0] == '.')
            add_module(loaded, is_program ? p->program : link->l_name, is_program);
    }
}

/* ---- start ---- */

/* Reads a number at *AT, and skips the space after it. */
static uint64_t read_number(const char **at)
{
    uint64_t number = 0;
    while (**at >= '0' && **at <= '9')
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    if (**at == ' ')
        (*at)++;
    return number;
}

static char *add_number(char *to, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}

/* Maps the memory file of funcmeter, which is specified in TEXT, the value of the variable. */
static bool open_file(const char *text)
{
    struct process *p = &meter_process;
    char path[64] = "/proc/";
    char *at = add_number(path + 6, read_number(&text));
    copy_text(at, 8, "/fd/");
    add_number(at + 4, read_number(&text));
    p->socket.sun_family = AF_UNIX;
    copy_text(p->socket.sun_path + 1, sizeof p->socket.sun_path - 1, text);
    p->socket_size = offsetof(struct sockaddr_un, sun_path) + 1;
    while (*text++ != '\0')
        p->socket_size++;
    int fd = (int)meter_call6(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    long file = meter_call6(SYS_mmap, 0, (long)METER_FILE_SIZE, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, fd, 0);
    call3(SYS_close, fd, 0, 0);
    if (file < 0 && file > -METER_PAGE)
        return false;
    call3(SYS_madvise, file, (long)METER_FILE_SIZE, MADV_DONTDUMP);
    p->header = (struct meter_header *)file;
    p->id = map(p->page);
    p->thunks = map(THUNKS * sizeof *p->thunks);
    if (p->id == NULL || p->thunks == NULL || p->header->magic != METER_MAGIC ||
        call3(SYS_madvise, (long)p->id, (long)p->page, MADV_WIPEONFORK) != 0)
        return false;
    p->file = (uint8_t *)file;
    return true;
}

/* Measures one round of calls of CODE, each of which needs the result of the previous one. Returns
 * the time [ticks]. */
static uint64_t time_calls(void (*code)(void))
{
    uint64_t value = 1, start = now();
    for (int i = 0; i < CALIBRATION_CALLS; i++)
        value = meter_call(code, value);
    return now() - start;
}

static void sort(uint64_t *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && values[k - 1] > values[k]; k--) {
            uint64_t value = values[k];
            values[k] = values[k - 1];
            values[k - 1] = value;
        }
}

/* Measures the cost of a hook with a function that takes about 50 ns, because the processor
 * executes a part of shorter functions while the hook is still busy. The result is the lower
 * quartile of several rounds: other activity of the machine makes some rounds longer, and
 * subtracting too much would make times impossible. The cost of reading the system's clock is
 * excluded from the rounds and added at the end, because it may have changed from one round to the
 * next. */
static void calibrate(void)
{
    struct process *p = &meter_process;
    struct state *t = &thread;
    uint64_t bare[CALIBRATIONS], hooked[CALIBRATIONS], inside[CALIBRATIONS], read[CALIBRATIONS];
    const int quartile = CALIBRATIONS / 4;
    p->thunks[0] = (struct meter_thunk){(uint64_t)meter_dummy, 0, METER_TIMED};
    p->thunk_count = 1;
    if (!p->header->timing || p->header->calibrated == METER_MACHINE)
        return;
    time_calls(meter_dummy_thunk); /* the first call allocates memory */
    if (t->records == NULL)
        return;
    for (int i = 0; i < CALIBRATIONS; i++) {
        bare[i] = time_calls(meter_dummy);
        uint64_t before = t->records[0].self, read_again = t->read_again;
        hooked[i] = time_calls(meter_dummy_thunk);
        read[i] = t->read;
        inside[i] = less(t->records[0].self - before, read[i] * CALIBRATION_CALLS);
        hooked[i] = less(hooked[i] - (t->read_again - read_again), 2 * read[i] * CALIBRATION_CALLS);
    }
    sort(bare, CALIBRATIONS);
    sort(hooked, CALIBRATIONS);
    sort(inside, CALIBRATIONS);
    sort(read, CALIBRATIONS);
    p->header->cost_read = read[quartile];
    p->header->cost_inside =
        less(inside[quartile], bare[quartile]) / CALIBRATION_CALLS + read[quartile];
    p->header->calibrated = METER_MACHINE;
    p->header->cost_total =
        less(hooked[quartile], bare[quartile]) / CALIBRATION_CALLS + 2 * read[quartile];
    set_costs(t, t->read);
}

static const char *find_variable(char **environment)
{
    static const char name[] = METER_ENVIRONMENT "=";
    for (; environment != NULL && *environment != NULL; environment++)
        if (same((const uint8_t *)*environment, (const uint8_t *)name, 1) &&
            same((const uint8_t *)*environment, (const uint8_t *)name, sizeof name - 1))
            return *environment + sizeof name - 1;
    return NULL;
}

/* Returns the page size of the system, from the auxiliary vector, which follows the ENVIRONMENT. */
static uint64_t find_page(char **environment)
{
    while (*environment != NULL)
        environment++;
    for (const uint64_t *at = (const uint64_t *)(environment + 1); at[0] != AT_NULL; at += 2)
        if (at[0] == AT_PAGESZ)
            return at[1];
    return METER_PAGE;
}

__attribute__((constructor)) static void start(int count, char **arguments, char **environment)
{
    (void)count;
    (void)arguments;
    const char *text = find_variable(environment);
    if (text == NULL)
        return;
    struct process *p = &meter_process;
    p->page = find_page(environment);
    long size = meter_call6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)p->program,
                            sizeof p->program - 1, 0, 0);
    p->program[size > 0 ? size : 0] = '\0';
    if (!open_file(text)) {
        SAY("cannot map the counters: this process is not measured");
        return;
    }
    if (p->header->timing && p->header->tsc && p->header->machine != METER_MACHINE) {
        SAY("the clocks of this program and of funcmeter differ: use --clock=monotonic");
        p->file = NULL;
        return;
    }
    __atomic_fetch_add(&p->header->processes, 1, __ATOMIC_RELAXED);
    calibrate();
    find_modules();
    p->started = true;
    if (p->header->listing)
        call3(SYS_exit_group, 0, 0, 0);
}
