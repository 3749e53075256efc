/* SPDX-License-Identifier: MIT */
/*
 * Completion for bash, from the command tables: commands, options, and the values of
 * options that have a list of them. Everything else completes to file names.
 */
#include <stdio.h>

#include "command.h"
#include "completion.h"

static void case_values(const struct option_spec *spec)
{
    if (spec->type != OPTION_CHOICE) {
        return;
    }
    printf("        --%s", spec->name);
    if (spec->letter != 0) {
        printf(" | -%c", spec->letter);
    }
    printf(") values='");
    for (int i = 0; spec->choices[i] != NULL; i++) {
        printf("%s%s", i == 0 ? "" : " ", spec->choices[i]);
    }
    printf("' ;;\n");
}

static void case_command(const struct command *command)
{
    const struct option_spec *options = command->options;

    printf("    %s)\n        options='--help", command->name);
    for (const struct option_spec *s = options; s != NULL && s->name != NULL; s++) {
        printf(" --%s", s->name);
    }
    printf("'\n        case $option in\n");
    for (const struct option_spec *s = options; s != NULL && s->name != NULL; s++) {
        case_values(s);
    }
    printf("        esac\n        ;;\n");
}

void bash_completion(void)
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
