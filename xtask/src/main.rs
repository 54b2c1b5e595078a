//! The one driver command of the project.
fn main() {}
