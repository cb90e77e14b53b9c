/* What disturbs a machine: gaps in a loop that reads the clock, a cache line between two cores, copies of memory.
 *
 * It knows no Python and no statistics. Arguments are 64-bit integers and pointers. Every function ends by itself, so
 * that a caller that was asked to stop is soon heard.
 */

#if defined(__linux__)
#define _GNU_SOURCE /* sched_getcpu */
#include <sched.h>
#endif

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define LOOKS 4095 /* at a cache line between two reads of the clock */

/* What was seen besides the gaps; times in ns. */
struct watch {
    int64_t first, last, backwards, core;
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Read the clock `count` times in a row. */
void collmark_reads(int64_t count, int64_t *stamps)
{
    for (int64_t index = 0; index < count; index++)
        stamps[index] = now();
}

/* Read the clock for `length` ns, and note the length of every step of `threshold` ns or more; return how many.
 *
 * `room` of them fit: length / threshold + 2 are enough unless the clock goes backwards, and no more are noted.
 */
int64_t collmark_gaps(int64_t length, int64_t threshold, int64_t room, int64_t *lengths, struct watch *watch)
{
    int64_t count = 0, backwards = 0, first = now(), ends = first + length, before = first;
    while (before < ends) {
        int64_t moment = now(), step = moment - before;
        if (step >= threshold && count < room)
            lengths[count++] = step;
        backwards += step < 0;
        before = moment;
    }
    watch->first = first;
    watch->last = before;
    watch->backwards = backwards;
#if defined(__linux__)
    watch->core = sched_getcpu();
#else
    watch->core = -1;
#endif
    return count;
}

/* Be one side of a ping-pong: wait for a number of the other side's in `line`, 0 before the first, and answer with the
 * next; side 0 begins, side 1 answers. Return the ns that `rounds` round trips took, counted from the first answer on,
 * or -1 where the other side did not answer within `patience` ns.
 */
int64_t collmark_bounce(_Atomic int64_t *line, int64_t side, int64_t rounds, int64_t patience)
{
    int64_t began = now(), deadline = began + patience;
    for (int64_t turn = side; turn <= 2 * rounds + 2 - side; turn += 2) {
        for (int64_t looks = 1; atomic_load_explicit(line, memory_order_acquire) != turn; looks++)
            if ((looks & LOOKS) == 0 && now() > deadline)
                return -1;
        if (turn == 2) /* both are there, and the line has been to the other core and back */
            began = now();
        atomic_store_explicit(line, turn + 1, memory_order_release);
    }
    return now() - began;
}

/* Copy `nbytes` over and over for `length` ns; return the copies, and in `took` how long they lasted, in ns. */
int64_t collmark_copies(void *to, const void *from, int64_t nbytes, int64_t length, int64_t *took)
{
    int64_t began = now(), count = 0;
    do {
        memcpy(to, from, (size_t)nbytes);
        count++;
        *took = now() - began;
    } while (*took < length);
    return count;
}
