/* SPDX-License-Identifier: MIT */
/*
 * Completion for bash, from the command tables: commands, options, and the values of
 * options that have a list of them. Everything else completes to file names.
 */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../formats/formats.h"
#include "../policy/policy.h"

typedef const char *value_fn(size_t index, const char **about);

static const char *rules_name(size_t index, const char **about)
{
    (void)about;
    return locus_rules_name(index);
}

/* Options whose values are in a table elsewhere; they mean the same in every command. */
static const struct {
    const char *option;
    value_fn *value;
} named[] = {
    {"format", trace_format_name},
    {"policy", policy_name},
    {"rules", rules_name},
};

/* "--rules | -r) values='kernel kernel-classic article' ;;", or nothing. */
static void case_values(const struct option_spec *spec)
{
    value_fn *value = NULL;

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (strcmp(spec->name, named[i].option) == 0) {
            value = named[i].value;
        }
    }
    if (value == NULL && spec->type != OPTION_CHOICE) {
        return;
    }
    printf("        --%s", spec->name);
    if (spec->letter != 0) {
        printf(" | -%c", spec->letter);
    }
    printf(") values='");
    for (size_t i = 0;; i++) {
        const char *text = value != NULL ? value(i, NULL) : spec->choices[i];
        if (text == NULL) {
            break;
        }
        printf("%s%s", i == 0 ? "" : " ", text);
    }
    printf("' ;;\n");
}

static void case_command(const struct command *command)
{
    struct option_walk walk = option_walk(command->options);
    const struct option_spec *s;

    printf("    %s)\n        options='--help", command->name);
    while ((s = option_next(&walk)) != NULL) {
        printf(" --%s", s->name);
    }
    printf("'\n        case $option in\n");
    walk = option_walk(command->options);
    while ((s = option_next(&walk)) != NULL) {
        case_values(s);
    }
    printf("        esac\n        ;;\n");
}

void bash_completion(const struct command *const commands[])
{
    printf("# bash completion for locus, made by 'locus --completion bash'\n"
           "_locus()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - "
           "1]}\n"
           "    local options= values= list=\n\n"
           /* bash breaks "--name=value" into three words. */
           "    if [[ $word == '=' ]]; then\n        word=\n"
           "    elif [[ $option == '=' ]]; then\n"
           "        option=${COMP_WORDS[COMP_CWORD - 2]}\n    fi\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        COMPREPLY=($(compgen -W '--help --version --man --completion");
    for (const struct command *const *c = commands; *c != NULL; c++) {
        printf(" %s", (*c)->name);
    }
    printf("' -- \"$word\"))\n        return\n    fi\n"
           "    case ${COMP_WORDS[1]} in\n    --completion) values=bash ;;\n");
    for (const struct command *const *c = commands; *c != NULL; c++) {
        case_command(*c);
    }
    /* Values may be lists: what stands before the last comma is kept. */
    printf("    esac\n"
           "    if [[ $values ]]; then\n"
           "        [[ $word == *,* ]] && list=${word%%,*},\n"
           "        COMPREPLY=($(compgen -P \"$list\" -W \"$values\" -- "
           "\"${word##*,}\"))\n"
           "    elif [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "    fi\n}\n"
           "complete -o default -F _locus locus\n");
}
