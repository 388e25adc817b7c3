/* Runs a fuzz target on files, and on every file of the folders, that are named: what the ordinary test run does with the
 * corpora. With KHAL_FUZZ=ON libFuzzer's own main takes its place. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int replay_file(const char* path)
{
    FILE* file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = 0, room = 0;
    uint8_t* data = NULL;
    for (;;) {
        if (size == room) {
            room = room ? 2 * room : 4096;
            uint8_t* more = realloc(data, room);
            if (!more) {
                perror(path);
                free(data);
                fclose(file);
                return 1;
            }
            data = more;
        }
        const size_t got = fread(data + size, 1, room - size, file);
        if (got == 0)
            break;
        size += got;
    }
    const int failed = ferror(file);
    fclose(file);
    /* memory of exactly that size, so that a sanitizer sees reads beyond it */
    uint8_t* exact = malloc(size ? size : 1);
    if (failed || !exact) {
        fprintf(stderr, "%s: can't be read\n", path);
    } else {
        printf("%s\n", path);
        fflush(stdout);
        if (size)
            memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    const int status = failed || !exact;
    free(exact);
    free(data);
    return status;
}

static int is_input(const struct dirent* entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char** argv)
{
    int status = 0;
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent** entries;
        const int n = scandir(argv[i], &entries, is_input, alphasort);
        if (n < 0) {
            status |= replay_file(argv[i]);
            count++;
            continue;
        }
        for (int k = 0; k < n; k++) {
            char path[4096];
            if (snprintf(path, sizeof path, "%s/%s", argv[i], entries[k]->d_name) < (int)sizeof path)
                status |= replay_file(path);
            else
                status = 1;
            free(entries[k]);
            count++;
        }
        free(entries);
    }
    if (count == 0) {
        fputs("no input\n", stderr);
        return 1;
    }
    printf("%u inputs\n", count);
    return status;
}
