/* CUDA's machine code: ELF with NVIDIA's own sections. Every offset in it is checked before it is followed. */
#ifndef KHAL_CORE_CUBIN_H
#define KHAL_CORE_CUBIN_H

#include "core.h"

/* Calls the visitor for each entry point. False: it stopped. Code that is broken, and a fatbin, has none. */
bool khal__cubin_visit(const void* code, size_t size, const khal__foreign_visitor* visitor);
#endif
