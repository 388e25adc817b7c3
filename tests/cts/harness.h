/* What the harness's own files share. */
#ifndef CTS_HARNESS_H
#define CTS_HARNESS_H

#include "cts.h"

typedef struct cts_case {
    const char* suite;
    char* name;           /* "suite.case" */
    cts_case_fn run;
    const void* data;
    uint32_t features;
} cts_case;

struct cts_registry {
    const char* suite;    /* being added */
    cts_case* cases;
    uint32_t count, capacity;
};

void cts_register_all(cts_registry* registry);
void cts_registry_free(cts_registry* registry);

/* What a backend is known not to do, with the reason. An entry that no case needs any more is a failure. */
typedef struct cts_unsupported {
    const char* pattern;  /* of case names; * and ? */
    const char* reason;
} cts_unsupported;

typedef struct cts_backend {
    khal_backend id;
    const char* name;
    bool flushes_denormals;
    bool simplifies_floats; /* its compilers may make x of (x + y) - y */
    const char* skip_all; /* reason, or NULL */
    const cts_unsupported* unsupported; /* ended by a NULL pattern; may be NULL */
} cts_backend;

const cts_backend* cts_backend_find(const char* name);
const cts_unsupported* cts_backend_unsupported(const cts_backend* backend, const char* case_name);
bool cts_match(const char* pattern, const char* text);

typedef enum cts_outcome { CTS_PASSED, CTS_FAILED, CTS_SKIPPED } cts_outcome;

/* A device and what is kept for it between cases. */
typedef struct cts_session cts_session;
cts_session* cts_session_open(const cts_backend* backend, bool verbose);
void cts_session_close(cts_session* session);
cts_outcome cts_session_run(cts_session* session, const cts_case* which);

/* Where the CUDA driver is the unit tests' stand-in (tests/unit/cuda), whose device runs nothing: the suites' kernels run there
 * as the CPU functions of the same library, with the arguments that the launch brings. */
void cts_standin_use(void);
/* Whether the stand-in was called as a driver should be, and has everything back; else says what was wrong. True without it. */
bool cts_standin_is_content(void);

#endif
