/* A monotonic clock that gains on the true one at a known rate, for a process that is started with this preloaded. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static int (*true_clock)(clockid_t, struct timespec *);
static int64_t since; /* ns, when both showed the same */
static double rate;

__attribute__((constructor)) static void begin(void)
{
    true_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    since = atoll(getenv("DRIFT_SINCE"));
    rate = atof(getenv("DRIFT_RATE"));
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!true_clock)
        begin();
    int fault = true_clock(clock, time);
    if (!fault && clock == CLOCK_MONOTONIC) {
        int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
        now += (int64_t)((double)(now - since) * rate);
        time->tv_sec = now / 1000000000;
        time->tv_nsec = now % 1000000000;
    }
    return fault;
}
