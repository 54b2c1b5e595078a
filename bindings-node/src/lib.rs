//! Node binding.
