/* Stands in for what has not come yet. */
#include "wg_spirv.h"
#define WEAK __attribute__((weak))
WEAK bool wg_spirv_check(const wg_spirv_target* t, const uint32_t* w, size_t n, char* m, size_t s) { (void)t; (void)w; (void)n; (void)m; (void)s; return true; }
WEAK bool wg_spirv_is_read_only(const wg_spirv_target* t, const uint32_t* w, size_t n, uint32_t g, uint32_t b) { (void)t; (void)w; (void)n; (void)g; (void)b; return false; }
