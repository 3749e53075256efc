/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_COMPLETION_H
#define LOCUS_SIM_COMPLETION_H

/* The completion script for bash, on stdout; the build calls "locus --completion bash". */
void bash_completion(void);

#endif
