/* Code with inlined, static, cold and cloned functions, in several threads.
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
    unsigned rounds, seed;
    double result;
};

static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ (x << 5);
}

static inline __attribute__((always_inline)) unsigned twice(unsigned x)
{
    return mix(mix(x) + 1);
}

static __attribute__((noinline)) double scale(unsigned x, unsigned by)
{
    if (x == 0) {
        fprintf(stderr, "zero\n");
        abort();
    }
    double sum = 0;
    for (unsigned i = 1; i <= by; i++)
        sum += (double)twice(x + i) / i;
    return sum;
}

__attribute__((noinline)) double recurse(unsigned depth, unsigned x)
{
    return depth == 0 ? scale(x | 1, 3) : recurse(depth - 1, twice(x)) + mix(depth);
}

static void *run(void *argument)
{
    struct work *w = argument;
    for (unsigned i = 0; i < w->rounds; i++) {
        w->seed = twice(w->seed);
        w->result += scale(w->seed | 1, 3) + recurse(i % 4, w->seed);
    }
    return NULL;
}

__attribute__((cold)) void never(int code)
{
    printf("never %d\n", code);
    exit(code);
}

int unused_function_for_the_linker_to_drop(int x)
{
    return (int)twice((unsigned)x) + 1;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    struct work work[2] = {{100, 1, 0}, {200, 2, 0}};
    if (argc > 5)
        never(argc);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, &work[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%s %g\n", argv[0], work[0].result + work[1].result);
    return 0;
}
