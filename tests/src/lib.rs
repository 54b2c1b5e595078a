//! Tests shared by the whole project.
