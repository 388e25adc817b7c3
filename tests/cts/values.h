/* Integer types of kernels, with 128-bit arithmetic for their references. */
#ifndef CTS_VALUES_H
#define CTS_VALUES_H

#include "cts.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

typedef enum int_kind { INT_CHAR, INT_UCHAR, INT_SHORT, INT_USHORT, INT_INT, INT_UINT, INT_LONG, INT_ULONG } int_kind;

size_t int_size(int_kind k);  /* bytes */
int int_width(int_kind k);    /* bits */
bool int_is_signed(int_kind k);
int_kind int_unsigned(int_kind k);
const char* int_name(int_kind k);
wide int_least(int_kind k);
wide int_most(int_kind k);
wide int_get(int_kind k, const void* values, size_t index);
void int_put(int_kind k, void* values, size_t index, wide value); /* wrapped */
wide int_wrap(int_kind k, wide value);
wide int_clamp(int_kind k, wide value);
uint64_t int_bits(int_kind k, wide value); /* of the type's width */

/* Special values of the type in varying order, and random ones of varying size. */
void int_inputs(cts* t, int_kind k, size_t count, void* out);

typedef struct wide_string { char text[48]; } wide_string;
wide_string wide_text(wide value);

#endif
