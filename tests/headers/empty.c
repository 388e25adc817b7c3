extern int khal_test_headers; /* the header under test is included on the command line */
