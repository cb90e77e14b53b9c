/* The loop that one would write in C against MPI, to compare collmark's with: built with the same MPI's mpicc, loaded
 * into the same process, on the same communicator and buffers, with the same agreed starts. */

#define _POSIX_C_SOURCE 200112L

#include <mpi.h>
#include <stdint.h>
#include <time.h>

enum { ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, BROADCAST, PING_PONG };

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#define TIMED(CALL)                                \
    for (int64_t index = 0; index < repetitions; index++) { \
        start(place);                              \
        int64_t enter = now();                     \
        for (int64_t turn = 0; turn < batch; turn++) \
            CALL;                                  \
        int64_t leave = now();                     \
        stamps[index] = enter;                     \
        stamps[repetitions + index] = leave;       \
    }                                              \
    break

/* `count` elements of one block; `stamps` takes entries and exits in ns. */
void peer_time(int operation, MPI_Fint handle, void *send, void *receive, int count, int64_t batch,
               int64_t repetitions, void (*start)(void *), void *place, int64_t *stamps)
{
    MPI_Comm comm = MPI_Comm_f2c(handle);
    MPI_Datatype byte = MPI_UINT8_T;
    int rank;
    MPI_Comm_rank(comm, &rank);
    switch (operation) {
    case ALL_REDUCE: TIMED(MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, comm));
    case ALL_GATHER: TIMED(MPI_Allgather(send, count, byte, receive, count, byte, comm));
    case ALL_TO_ALL: TIMED(MPI_Alltoall(send, count, byte, receive, count, byte, comm));
    case BROADCAST: TIMED(MPI_Bcast(send, count, byte, 0, comm));
    case PING_PONG:
        if (rank == 0) {
            TIMED((MPI_Send(send, count, byte, 1, 7, comm), MPI_Recv(receive, count, byte, 1, 7, comm, MPI_STATUS_IGNORE)));
        }
        TIMED((MPI_Recv(receive, count, byte, 0, 7, comm, MPI_STATUS_IGNORE), MPI_Send(send, count, byte, 0, 7, comm)));
    }
}
