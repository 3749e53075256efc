/* SPDX-License-Identifier: MIT */
/*
 * The event language of the golden scripts, on the reference model alone: what proves that
 * the model is right. It knows what well-formed scripts need and no more.
 */
#ifndef LOCUS_TESTS_SCRIPT_H
#define LOCUS_TESTS_SCRIPT_H

#include <stdio.h>

/*
 * Runs a script (its text is cut into words on the way) under a rule set and writes what it
 * answers to out. Returns 0, or the number of the line that is malformed.
 */
unsigned script_run(char *text, const char *rules, FILE *out);

#endif
