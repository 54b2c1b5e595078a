//! The corpus and the seed cases over the core in this process, in every variant, with every message of ours checked
//! against its schema.

use std::collections::BTreeSet;

use keel_tests::host::InProcess;
use keel_tests::report::run_all;
use keel_tests::wire::Schemas;
use keel_tests::{case, corpus_dir, requirements, seed, spec_dir};

#[test]
fn every_case_holds() {
    let dir = corpus_dir();
    let mut cases = case::load(&dir).expect("the corpus is well-formed");
    let schemas = spec_dir().map(|spec| {
        let shared = case::Shared::load(&dir).expect("shared.json");
        cases.extend(seed::cases(&spec, &shared).expect("every seed case has a template"));
        Schemas::load(&spec).expect("the schemas are readable")
    });
    let report = run_all(&cases, "core", schemas.as_ref(), || Ok(Box::new(InProcess::default())));
    let failed: Vec<_> = report.failed.iter().map(|(name, why)| format!("{name}\n  {why}")).collect();
    assert!(failed.is_empty(), "{} of {} fail:\n{}", failed.len(), cases.len(), failed.join("\n"));
    assert!(schemas.is_none() || report.checked > 1000, "the schema check saw {} messages only", report.checked);
}

#[test]
fn cited_requirements_exist() {
    let cases = case::load(&corpus_dir()).expect("the corpus is well-formed");
    let bare: Vec<_> = cases.iter().filter(|case| case.spec.is_empty()).map(|case| &case.name).collect();
    assert!(bare.is_empty(), "cases without a requirement: {bare:?}");
    let Some(spec) = spec_dir() else { return };
    let known: BTreeSet<String> = requirements::load(&spec).expect("requirements.tsv").into_keys().collect();
    let unknown: Vec<_> = requirements::cited(&cases).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "no such requirements: {unknown:?}");
}
