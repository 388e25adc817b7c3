kernel __attribute__((reqd_work_group_size(32, 33, 1))) void k(global int* p) { p[0] = 1; }
kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void fits(global int* p) { p[0] = 1; }
kernel __attribute__((__reqd_work_group_size__(65536, 65536, 1))) void wraps(global int* p) { p[0] = 1; }
