/* SPDX-License-Identifier: MIT */
#include "replay.h"

int main(int argc, char **argv)
{
    return bench_replay(argc, argv);
}
