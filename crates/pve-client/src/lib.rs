//! PVE's REST API over TLS: the only crate that speaks HTTP to PVE.
