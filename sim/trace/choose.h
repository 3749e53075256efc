/* SPDX-License-Identifier: MIT */
/* How a file is to be read: its format, and what stands for the destination. */
#ifndef LOCUS_SIM_CHOOSE_H
#define LOCUS_SIM_CHOOSE_H

#include "../formats/reader.h"

/* Both: 0, or an exit_code after a message on stderr. */

/* By --format, or by looking at the file. *out is NULL for an empty file, which may be of any
 * format. */
int choose_format(const struct trace_options *options, struct input *input,
                  const struct format **out);
/* Sets the reader's key: --key, or what its format takes by itself. */
int choose_key(struct reader *reader);

#endif
