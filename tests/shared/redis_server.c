/* SPDX-License-Identifier: MIT */
#include "redis_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS = 48 };

bool redis_server_installed(void)
{
    return system("command -v redis-server redis-cli >/dev/null 2>&1") == 0;
}

int redis_server_port(void)
{
    for (int tries = 0; tries < 100; tries++) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
            return 0;
        }
        close(fd);
        int port = ntohs(address.sin_port);
        if (port < 50000) {
            return port;
        }
    }
    return 0;
}

const char *redis_server_cli(const struct redis_server *server, const char *words)
{
    static char answer[65536];
    char command[1024];

    snprintf(command, sizeof(command), "redis-cli -s %s/s %s 2>&1", server->folder,
             words);
    FILE *pipe = popen(command, "r");
    size_t length = pipe != NULL ? fread(answer, 1, sizeof(answer) - 1, pipe) : 0;
    if (pipe != NULL) {
        pclose(pipe);
    }
    answer[length] = '\0';
    if (length > 0 && answer[length - 1] == '\n') {
        answer[length - 1] = '\0';
    }
    return answer;
}

static void run_server(const struct redis_server *server, const char *const *extra)
{
    char port[16], socket_path[96], log[96];
    const char *argv[ARGUMENTS] = {
        "redis-server", "--port",     port,      "--unixsocket", socket_path, "--dir",
        server->folder, "--save",     "",        "--logfile",    log,         "--bind",
        "127.0.0.1",    "--loglevel", "warning",
    };
    size_t count = 15;

    snprintf(port, sizeof(port), "%d", server->port);
    snprintf(socket_path, sizeof(socket_path), "%s/s", server->folder);
    snprintf(log, sizeof(log), "%s/log", server->folder);
    for (size_t i = 0; extra != NULL && extra[i] != NULL && count < ARGUMENTS - 1;
         i++) {
        argv[count++] = extra[i];
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execvp(argv[0], (char *const *)(void *)argv);
    _exit(127);
}

bool redis_server_restart(struct redis_server *server, const char *const *extra)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    server->pid = fork();
    if (server->pid == 0) {
        run_server(server, extra);
    }
    for (int tries = 0; server->pid > 0 && tries < 3000; tries++) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0; /* its port is taken, say */
            return false;
        }
        const char *answer = redis_server_cli(server, "ping");
        if (strstr(answer, "PONG") != NULL || strstr(answer, "NOAUTH") != NULL) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

bool redis_server_start(struct redis_server *server, int port, const char *const *extra)
{
    memset(server, 0, sizeof(*server));
    server->port = port;
    snprintf(server->folder, sizeof(server->folder), "/tmp/locus-redis-XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        return false;
    }
    snprintf(server->uri, sizeof(server->uri), "redis+unix://%s/s", server->folder);
    return redis_server_restart(server, extra);
}

bool redis_server_start_on_a_port(struct redis_server *server, const char *const *extra)
{
    /* Somebody may take the port before it does. */
    for (int tries = 0; tries < 10; tries++) {
        if (redis_server_start(server, redis_server_port(), extra)) {
            return true;
        }
        redis_server_stop(server);
    }
    return false;
}

void redis_server_must_start(struct redis_server *server)
{
    if (!redis_server_start(server, 0, NULL)) {
        fprintf(stderr, "redis-server did not start\n");
        exit(EXIT_FAILURE);
    }
}

void redis_server_kill(struct redis_server *server)
{
    if (server->pid > 0) {
        kill(server->pid, SIGKILL);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        /* It may be the child of another process, which alone can wait for it. */
        while (strstr(redis_server_cli(server, "ping"), "PONG") != NULL) {
        }
        server->pid = 0;
    }
}

void redis_server_stop(struct redis_server *server)
{
    char command[128];

    redis_server_kill(server);
    if (server->folder[0] != '\0') {
        snprintf(command, sizeof(command), "rm -rf %s", server->folder);
        if (system(command) != 0) {
            fprintf(stderr, "cannot remove %s\n", server->folder);
        }
    }
}
