/* SPDX-License-Identifier: MIT */
/*
 * Stands in for libFuzzer: runs a target once over each file of the folders and files
 * named on the command line. TAP on stdout; a failure of the target ends the program.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("not ok %d - %s cannot be read\n", ++replayed, path);
        exit(EXIT_FAILURE);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data && size > 0 ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    printf("ok %d - %s\n", ++replayed, path);
    fflush(stdout);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct dirent **files = NULL;
        int count = scandir(argv[i], &files, visible, alphasort);
        if (count < 0) {
            replay(argv[i]);
        }
        for (int j = 0; j < count; j++) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], files[j]->d_name);
            replay(path);
            free(files[j]);
        }
        free(files);
    }
    printf("1..%d\n", replayed);
    return replayed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
