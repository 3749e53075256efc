/* SPDX-License-Identifier: MIT */
/* What the search came to, for people and for programs. */
#ifndef LOCUS_SIM_ADVISE_REPORT_H
#define LOCUS_SIM_ADVISE_REPORT_H

#include "apply.h"

/* The front, the choice and why, the lines that apply it, the replay that shows its figures
 * again. Both are an exit_code. */
int advice_print(const struct advice *advice);
int advice_print_json(const struct advice *advice);

#endif
