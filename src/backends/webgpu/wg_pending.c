/* Stands in for what has not come yet. */
#include "wg.h"
#define WEAK __attribute__((weak))
#define NOT_YET(device) khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, NULL, "not yet")
WEAK khal_status wg_module_create(khal_module* m, const khal_module_desc* d, const khal_code* c) { (void)d; (void)c; return NOT_YET(khal__module_device(m)); }
WEAK void wg_module_destroy(khal_module* m) { (void)m; }
WEAK khal_status wg_module_poll(khal_module* m) { (void)m; return KHAL_OK; }
WEAK khal_status wg_function_create(khal_function* f, const khal_function_desc* d) { (void)f; (void)d; return KHAL_OK; }
WEAK void wg_function_destroy(khal_function* f) { (void)f; }
WEAK khal_status wg_function_poll(khal_function* f) { (void)f; return KHAL_OK; }
WEAK khal_status wg_dispatch_open(wg_device* d) { (void)d; return KHAL_OK; }
WEAK void wg_dispatch_close(wg_device* d) { (void)d; }
WEAK khal_status wg_dispatch_encode(wg_recorder* r, const khal__command* c) { (void)c; return NOT_YET(r->device->front); }
WEAK khal_status wg_dispatch_flush(wg_recorder* r) { (void)r; return KHAL_OK; }
WEAK void wg_dispatch_abandon(wg_recorder* r) { (void)r; }
WEAK void wg_dispatch_completed(wg_device* d, khal_ticket t) { (void)d; (void)t; }
WEAK void wg_dispatch_forget(wg_device* d, uint64_t s) { (void)d; (void)s; }
WEAK khal_status wg_internal_open(wg_device* d) { (void)d; return KHAL_OK; }
WEAK void wg_internal_close(wg_device* d) { (void)d; }
WEAK khal_status wg_internal_copy(wg_recorder* r, WGPUBuffer s, uint64_t so, WGPUBuffer t, uint64_t to, uint64_t n) { (void)s; (void)so; (void)t; (void)to; (void)n; return NOT_YET(r->device->front); }
WEAK khal_status wg_internal_fill(wg_recorder* r, WGPUBuffer t, uint64_t o, uint64_t n, const void* p, uint32_t ps) { (void)t; (void)o; (void)n; (void)p; (void)ps; return NOT_YET(r->device->front); }
