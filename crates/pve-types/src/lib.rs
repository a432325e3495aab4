//! PVE's vocabulary as types: no I/O, no clock, no environment.
