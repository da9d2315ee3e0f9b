//! commitlog
