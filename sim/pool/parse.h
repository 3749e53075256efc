/* SPDX-License-Identifier: MIT */
/*
 * What the parsers of pool files share. list.c, script.c, table.c and keepalived.c each read one kind
 * of file; file.c finds out which kind it is and chooses the service.
 */
#ifndef LOCUS_SIM_POOL_PARSE_H
#define LOCUS_SIM_POOL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "../servers/servers.h"

enum { POOL_WORD = 128, POOL_WARNINGS = 16, POOL_WORDS_MAX = 64 };

/* Connections that a table may say a service has; a replay keeps 16 bytes for each. */
enum { POOL_CONNECTIONS_MAX = 10000000 };

struct pool_service {
    char name[POOL_WORD]; /* "tcp 10.0.0.1:80", "fwmark 1", "group web" */
    struct locus_address address;
    uint32_t flags;       /* LOCUS_FLAG_* of its scheduler */
    uint64_t connections; /* active and inactive, of all servers */
    struct server_list list;
};

struct pool_parse {
    const char *command;
    const char *path; /* of the file being read */
    unsigned line;
    struct pool_service *services;
    size_t count;
    char warned[POOL_WARNINGS][32];
    size_t warned_count;
    int depth; /* of includes */
};

/* "locus COMMAND: FILE:LINE: ..." on stderr; returns EXIT_USAGE. */
int pool_error(const struct pool_parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says once that a word was skipped. */
void pool_skip_word(struct pool_parse *parse, const char *word);
/* The service of that name, made if need be; NULL: no memory. */
struct pool_service *pool_service_get(struct pool_parse *parse, const char *name);
/* *text: the whole file as a string, to free(); NULL unless EXIT_OK. An exit_code, after a
 * line on stderr. */
int pool_read_file(const struct pool_parse *parse, const char *path, char **text);
/* Cuts the next line off *text, '\0' behind it; NULL at the end. Counts parse->line. */
char *pool_next_line(struct pool_parse *parse, char **text);
/* Splits a line at blanks, quotes kept together and taken off; '#' ends it. At most
 * POOL_WORDS_MAX, further ones are not looked at. */
size_t pool_split(char *line, char *words[POOL_WORDS_MAX]);
/* "10.0.0.1:80", "[::1]:80", a name, and "0A000001:0050" as /proc has it. */
bool pool_address(const char *text, uint16_t default_port, struct locus_address *out);
/* 0..2^31-1, or an error that names the field. */
int pool_number(const struct pool_parse *parse, const char *field, const char *text,
                uint32_t *out);
/* Adds a server, with an error when it is there already or too much. An exit_code. */
int pool_add_server(struct pool_parse *parse, struct server_list *list,
                    const struct server_spec *spec);

/* Adds what "sh-fallback", "mh-port" or "flag-1" says; false: it is no scheduler's flag. */
bool pool_flag(struct pool_parse *parse, const char *word, uint32_t *flags);
/* Several of them, "sh-fallback,sh-port", up to the end or a ')'. An exit_code; the error
 * names the field. */
int pool_flags(struct pool_parse *parse, const char *field, const char *text,
               uint32_t *flags);

int pool_parse_list(struct pool_parse *parse, char *text);
int pool_parse_script(struct pool_parse *parse, char *text);
int pool_parse_table(struct pool_parse *parse, char *text);
int pool_parse_keepalived(struct pool_parse *parse, char *text);

#endif
