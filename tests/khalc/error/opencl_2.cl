// options: -cl-std=CL2.0
kernel void reads(read_only pipe int in) {}
kernel void k(global int* p)
{
    reserve_id_t r;
    queue_t q = get_default_queue();
    clk_event_t e;
    volatile global atomic_int* a = (volatile global atomic_int*)p;
    p[0] = 1;
}
