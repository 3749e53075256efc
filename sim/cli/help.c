/* SPDX-License-Identifier: MIT */
/*
 * --help and the man page, both from the command tables, so that neither can go stale.
 */
#include "help.h"

#include <stdio.h>
#include <string.h>

/* "--name METAVAR", "--name a|b|c", "--name", with ", -n" behind it. */
static void option_words(const struct option_spec *spec, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "--%s", spec->name);

    if (spec->type == OPTION_CHOICE) {
        for (int i = 0; spec->choices[i] != NULL && used < size; i++) {
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     i == 0 ? " " : "|", spec->choices[i]);
        }
    } else if (spec->metavar != NULL && used < size) {
        used += (size_t)snprintf(out + used, size - used, " %s", spec->metavar);
    }
    if (spec->letter != 0 && used < size) {
        snprintf(out + used, size - used, ", -%c", spec->letter);
    }
}

/* Words of text, folded at column 79, every line but the first behind indent blanks. A line
 * that starts with a blank is a row of a table: laid out by hand, left alone. */
static void fold(const char *text, size_t indent, size_t column)
{
    bool row = *text == ' ';

    while (*text != '\0') {
        size_t blanks = strspn(text, " ");
        size_t word = strcspn(text + blanks, " \n");
        if (!row && column > indent && column + blanks + word > 79) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            text += blanks;
            blanks = 0;
        }
        printf("%.*s", (int)(blanks + word), text);
        column += blanks + word;
        text += blanks + word;
        if (*text == '\n') {
            bool paragraph = text[1] == '\n';
            printf("%s\n%*s", paragraph ? "\n" : "", (int)indent, "");
            column = indent;
            text += paragraph ? 2 : 1;
            row = *text == ' ';
        }
    }
    putchar('\n');
}

static void help_option(const struct option_spec *spec)
{
    enum { indent = 26 };
    char words[256];

    option_words(spec, words, sizeof(words));
    size_t width = strlen(words) + 2;
    printf("  %s", words);
    if (width + 1 > indent) {
        printf("\n%*s", indent, "");
    } else {
        printf("%*s", (int)(indent - width), "");
    }
    fold(spec->help, indent, indent);
}

void command_help(const struct command *command)
{
    struct option_walk walk = option_walk(command->options);
    const struct option_spec *s;

    printf("usage: locus %s %s\n\n", command->name, command->usage);
    fold(command->description, 0, 0);
    printf("\noptions:\n");
    while ((s = option_next(&walk)) != NULL) {
        help_option(s);
    }
    if (command->examples != NULL) {
        printf("\nexamples:\n");
        for (const char *line = command->examples; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            printf("  %.*s\n", (int)length, line);
            line += length + (line[length] != '\0');
        }
    }
}

void overview_help(const struct command *const commands[])
{
    printf("usage: locus COMMAND [options] [arguments]\n\n"
           "IPVS connection scheduling, replayed and explained.\n\ncommands:\n");
    for (const struct command *const *c = commands; *c != NULL; c++) {
        printf("  %-16s %s\n", (*c)->name, (*c)->summary);
    }
    printf("\n'locus COMMAND --help' explains one; 'man locus' has it all.\n"
           "Exit codes: 0 done, 1 input, output or memory failed, 2 wrong usage,\n"
           "3 bad data: more bad records than --max-bad, or lint found something,\n"
           "4 nothing to give.\n");
}

/* One line of roff: backslashes, and dots or quotes at its start, mean something. */
static void roff_line(const char *text, size_t length)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", stdout);
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') {
            fputs("\\e", stdout);
        } else if (text[i] == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(text[i]);
        }
    }
    putchar('\n');
}

/* Paragraphs, and rows of a table as in fold(), which are not filled. */
static void roff(const char *text)
{
    bool row = false;

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (row != (*text == ' ')) {
            row = !row;
            puts(row ? ".nf" : ".fi");
        }
        if (length == 0) {
            puts(".PP");
        } else {
            roff_line(text, length);
        }
        text += length + (text[length] != '\0');
    }
    if (row) {
        puts(".fi");
    }
}

static void roff_examples(const char *text)
{
    puts(".PP\n.nf");
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        roff_line(text, length);
        text += length + (text[length] != '\0');
    }
    puts(".fi");
}

static void man_command(const struct command *command)
{
    struct option_walk walk = option_walk(command->options);
    const struct option_spec *s;
    char words[256];

    printf(".SS locus %s\n", command->name);
    printf(".B locus %s\n", command->name);
    roff(command->usage);
    printf(".PP\n");
    roff(command->description);
    while ((s = option_next(&walk)) != NULL) {
        option_words(s, words, sizeof(words));
        printf(".TP\n.B \"");
        for (const char *w = words; *w != '\0'; w++) {
            printf(*w == '-' ? "\\-" : "%c", *w);
        }
        printf("\"\n");
        roff(s->help);
    }
    if (command->examples != NULL) {
        roff_examples(command->examples);
    }
}

void man_page(const struct command *const commands[], const char *version)
{
    printf(".TH LOCUS 1 \"\" \"locus %s\" \"User Commands\"\n.SH NAME\n"
           "locus \\- IPVS connection scheduling, replayed and explained\n"
           ".SH SYNOPSIS\n.B locus\n.I COMMAND\n[options] [arguments]\n.SH COMMANDS\n",
           version);
    for (const struct command *const *c = commands; *c != NULL; c++) {
        man_command(*c);
    }
    printf(".SH EXIT STATUS\n"
           "0: done. 1: input, output or memory failed. 2: wrong usage. 3: bad data: "
           "more bad\n"
           "records than \\-\\-max\\-bad, or something that lint found. 4: nothing to "
           "give.\n"
           ".SH SEE ALSO\nipvsadm(8), keepalived(8)\n");
}
