//! The stable words: what the core declares is what the corpus lists, so that a changed word is a change of both.

use std::fs;

use keel_tests::corpus_dir;
use keel_tests::json::Json;

#[test]
fn the_list_is_the_cores() {
    let text = fs::read_to_string(corpus_dir().join("codes.json")).expect("codes.json is part of the corpus");
    let listed = Json::parse(&text).expect("codes.json is JSON");
    let listed: Vec<&str> = listed.as_array().expect("an array").iter().filter_map(Json::as_str).collect();
    assert_eq!(listed, mcp_keel_core::error::CODES, "tests/corpus/codes.json and mcp_keel_core::error::CODES differ");
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted, listed, "the list is sorted and holds no word twice");
}
