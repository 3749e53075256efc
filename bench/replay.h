/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_REPLAY_H
#define LOCUS_BENCH_REPLAY_H

/* The whole of "locus replay" over a generated trace, timed from outside; takes and returns
 * what a main() does. */
int bench_replay(int argc, char **argv);

#endif
