/* SPDX-License-Identifier: MIT */
/* locus: its first argument names a command of commands/commands.def. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/help.h"
#include "commands/commands.h"

static const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "commands/commands.def"
#undef COMMAND
    NULL,
};

/* Output that did not arrive is an error, whatever the command thought: a full disk must
 * not look like an empty answer. */
static int finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "locus: cannot write the output: %s\n", strerror(errno));
        return EXIT_RUNTIME;
    }
    return code;
}

static int completion(const char *shell)
{
    if (strcmp(shell, "bash") != 0) {
        fprintf(stderr, "locus: --completion: expected 'bash', not '%s'\n", shell);
        return EXIT_USAGE;
    }
    bash_completion(commands);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        overview_help(commands);
        return finish(EXIT_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("locus %s\n", LOCUS_VERSION);
        return finish(EXIT_OK);
    }
    if (strcmp(name, "--man") == 0) {
        man_page(commands, LOCUS_VERSION);
        return finish(EXIT_OK);
    }
    if (strcmp(name, "--completion") == 0) {
        return finish(completion(argc > 2 ? argv[2] : ""));
    }
    for (const struct command *const *c = commands; *c != NULL; c++) {
        if (strcmp(name, (*c)->name) == 0) {
            return finish((*c)->run(argc - 1, argv + 1));
        }
    }
    if (argc < 2) {
        fprintf(stderr, "locus: which command? See 'locus --help'\n");
    } else {
        fprintf(stderr, "locus: no command '%s'; see 'locus --help'\n", name);
    }
    return EXIT_USAGE;
}
