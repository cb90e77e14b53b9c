/* The native timing loop: between two clock reads stand the calls of a program, and nothing else.
 *
 * It knows no MPI, no Python and no operation: a program is an array of function addresses with their arguments as
 * machine words. Integers and pointers are both passed as words, which the calling conventions of 64-bit Linux (and of
 * macOS on x86) take alike; that of macOS on ARM packs arguments beyond the eighth, so there is no native loop there.
 *
 * All ranks of a host agree on the start of every repetition through a page of shared memory, in the manner of
 * Round-Time (ReproMPI), without any call of the library under test.
 */

#define _POSIX_C_SOURCE 200112L

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#if !defined(__LP64__) || (defined(__APPLE__) && defined(__aarch64__))
#error "words are not passed as this loop needs it: the loop in Python is used instead"
#endif

#define LINE 128 /* bytes: two cache lines, since processors fetch them in pairs */
#define FEW 7
#define MOST 12
#define STOP INT64_MIN
#define PATIENT 2000  /* looks at a word before the core is offered to others */
#define CLOSE 20000   /* ns before a start in which the core is kept */
#define SMALLEST 2000 /* ns of slack: a cache line to every rank, and a read of the clock */
#define LARGEST 5000000
#define LONG 1000000000

typedef intptr_t word;

struct step {
    void *function;
    int64_t count; /* of arguments */
    word argument[MOST];
};

/* One line for each rank, and one before them for what rank 0 says. */
struct head {
    _Atomic int64_t go; /* number of the repetition whose start stands beside it */
    int64_t start;      /* ns, or STOP */
    int64_t slack;
    char rest[LINE - 3 * sizeof(int64_t)];
};
struct line {
    _Atomic int64_t ready; /* number of the repetition that this rank waits for */
    int64_t late;          /* ns by which it came too late for the one before */
    char rest[LINE - 2 * sizeof(int64_t)];
};
struct page {
    struct head head;
    struct line lines[];
};

/* Where a rank stands; rank 0 decides, and both outlive a call so that waiting can go on in the next. */
struct place {
    struct page *page;
    int64_t rank, ranks, crowded, sequence, late;
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void breathe(const struct place *place, int64_t looks)
{
    if (place->crowded || looks > PATIENT)
        sched_yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

/* A function is given more words than it takes: it does not look at them, and the caller clears the stack, so that is
 * safe. A choice by their exact number would be an indirect jump that the processor guesses wrong between the clock reads.
 */
static inline int perform(const struct step *step)
{
    const word *a = step->argument;
    if (step->count > FEW)
        return ((int (*)(word, word, word, word, word, word, word, word, word, word, word, word))step->function)(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    return ((int (*)(word, word, word, word, word, word, word))step->function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
}

/* Fetch a program into the cache, which a large message may have pushed it out of, before the clock is read. */
static inline void fetch(const struct step *steps, int64_t count)
{
    for (const char *at = (const char *)steps; at < (const char *)(steps + count); at += LINE / 2)
        __builtin_prefetch(at);
}

/* Make `count` calls, and begin anew after each `period` of them. */
static inline int perform_all(const struct step *steps, int64_t count, int64_t period)
{
    const struct step *at = steps, *end = steps + period;
    int fault = 0;
    for (; count > 0; count--) {
        fault |= perform(at);
        at = at + 1 == end ? steps : at + 1;
    }
    return fault;
}

/* Wait until every other rank is ready; return whether that was within `patience` ns. */
static int await_ranks(const struct place *place, int64_t patience, int64_t *late)
{
    int64_t deadline = now() + patience;
    *late = place->late;
    for (int64_t rank = 1; rank < place->ranks; rank++) {
        struct line *line = &place->page->lines[rank];
        for (int64_t looks = 0; atomic_load_explicit(&line->ready, memory_order_acquire) < place->sequence; looks++) {
            if ((looks & 255) == 255 && now() > deadline)
                return 0;
            breathe(place, looks);
        }
        if (line->late > *late)
            *late = line->late;
    }
    return 1;
}

/* More slack when a rank came late for the last start, slowly less when none did. */
static int64_t follow(int64_t slack, int64_t late)
{
    int64_t next = late > slack / 5 ? slack + slack / 2 : slack - slack / 32;
    return next < SMALLEST ? SMALLEST : next > LARGEST ? LARGEST : next;
}

/* Return the next start: STOP where rank 0 ends the block, 0 where the others are not there within `limit` ns. */
static int64_t give_start(struct place *place, int64_t ends, int64_t limit)
{
    struct head *head = &place->page->head;
    int64_t late;
    if (!await_ranks(place, limit, &late))
        return 0;
    int64_t moment = now();
    if (moment > ends) {
        head->start = STOP;
    } else {
        head->slack = follow(head->slack, late);
        head->start = moment + head->slack;
    }
    atomic_store_explicit(&head->go, place->sequence, memory_order_release);
    return head->start;
}

/* Say that this rank is ready, and return the start that rank 0 gives; 0 where it gives none within `limit` ns. */
static int64_t take_start(struct place *place, int64_t limit)
{
    struct head *head = &place->page->head;
    struct line *own = &place->page->lines[place->rank];
    int64_t deadline = now() + limit;
    own->late = place->late;
    atomic_store_explicit(&own->ready, place->sequence, memory_order_release);
    for (int64_t looks = 0; atomic_load_explicit(&head->go, memory_order_acquire) < place->sequence; looks++) {
        if ((looks & 255) == 255 && now() > deadline)
            return 0;
        breathe(place, looks);
    }
    return head->start;
}

static void await_start(struct place *place, int64_t start)
{
    int64_t left;
    while ((left = start - now()) > 0)
        if (place->crowded && left > CLOSE)
            sched_yield();
    place->late = -left;
}

/* Agree on a start and wait for it: for other loops in the same process, which are compared with this one. */
void collmark_start(struct place *place)
{
    int64_t start;
    do
        start = place->rank ? take_start(place, LONG) : give_start(place, INT64_MAX, LONG);
    while (start == 0);
    place->sequence++;
    await_start(place, start);
}

/* The programs that a repetition begins with: `cycle` of them stand one after the other, and are taken in turn. */
static inline const struct step *turn_of(const struct step *steps, int64_t step_count, int64_t batch, int64_t cycle,
                                         int64_t repetition)
{
    return steps + repetition * batch % cycle * step_count;
}

/* Time repetitions of `batch` programs each until `count` are done, rank 0 has had `limit` ns, or a call failed.
 *
 * `steps` holds `cycle` programs of `step_count` steps, one (made `batch` times) or a multiple of `batch`; the first
 * repetition takes the turn of number `first`.
 * Return the repetitions done. `stamps` takes starts, entries and exits, each of `count` ns; `fault` the or of what the
 * calls returned. A rank that returns with fewer than `count` calls again, and so goes on where it waited.
 */
int64_t collmark_block(struct place *place, const struct step *steps, int64_t step_count, int64_t batch, int64_t cycle,
                       int64_t first, int64_t count, int64_t limit, int64_t *stamps, int32_t *fault)
{
    int64_t ends = now() + limit, done = 0, calls = batch * step_count, period = cycle > 1 ? calls : step_count;
    int faults = 0;
    while (done < count && !faults) {
        int64_t start = place->rank ? take_start(place, limit) : give_start(place, ends, limit);
        if (start == 0)
            break;
        place->sequence++;
        if (start == STOP) {
            place->late = 0;
            break;
        }
        const struct step *at = turn_of(steps, step_count, batch, cycle, first + done);
        fetch(at, step_count);
        await_start(place, start);
        int64_t enter = now();
        faults = perform_all(at, calls, period);
        int64_t leave = now();
        stamps[done] = start;
        stamps[count + done] = enter;
        stamps[2 * count + done] = leave;
        done++;
    }
    *fault = faults;
    return done;
}

/* Time one repetition now, for ranks that have agreed on its start otherwise. */
void collmark_once(const struct step *steps, int64_t step_count, int64_t batch, int64_t cycle, int64_t repetition,
                   int64_t *stamps, int32_t *fault)
{
    const struct step *at = turn_of(steps, step_count, batch, cycle, repetition);
    int64_t calls = batch * step_count, period = cycle > 1 ? calls : step_count;
    int64_t enter = now();
    *fault = perform_all(at, calls, period);
    int64_t leave = now();
    stamps[0] = enter;
    stamps[1] = leave;
}

/* Time `count` repetitions back to back, for the clock's calibration. */
void collmark_alone(const struct step *steps, int64_t step_count, int64_t count, int64_t *stamps)
{
    for (int64_t index = 0; index < count; index++) {
        int64_t enter = now();
        perform_all(steps, step_count, step_count);
        int64_t leave = now();
        stamps[index] = enter;
        stamps[count + index] = leave;
    }
}

int collmark_nothing(void) { return 0; }

/* Keep the core busy for so many ns, as a computation that makes no call does. */
int collmark_compute(word length)
{
    for (int64_t ends = now() + length; now() < ends;)
        ;
    return 0;
}

int64_t collmark_page_bytes(int64_t ranks) { return (int64_t)(sizeof(struct head) + ranks * sizeof(struct line)); }
