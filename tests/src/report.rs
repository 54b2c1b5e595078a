//! Runs many cases and says what passed.

use crate::case::Case;
use crate::host::Host;
use crate::run::{self, Variant};
use crate::wire::Schemas;

/// What came out of a run over many cases.
#[derive(Debug, Default)]
pub struct Report {
    /// Names that passed.
    pub passed: Vec<String>,
    /// Names that failed, with what differed.
    pub failed: Vec<(String, String)>,
    /// Names that this host is known to fail, with why.
    pub known: Vec<(String, String)>,
    /// Messages checked against a schema.
    pub checked: usize,
}

/// Runs `cases` on fresh objects of a host named `name`, each in all its variants. `restart` replaces a host that died.
pub fn run_all(
    cases: &[Case],
    name: &str,
    schemas: Option<&Schemas>,
    mut restart: impl FnMut() -> Result<Box<dyn Host>, String>,
) -> Report {
    let mut report = Report::default();
    let mut host = restart();
    for case in cases {
        let result = match &mut host {
            Ok(host) => one(case, host.as_mut(), schemas),
            Err(fault) => Err(fault.clone()),
        };
        match (result, case.skip.get(name).or_else(|| case.skip.get("all"))) {
            (Ok(checked), None) => {
                report.checked += checked;
                report.passed.push(case.name.clone());
            }
            (Ok(_), Some(_)) => report.failed.push((case.name.clone(), "passes, though it is listed as a gap".into())),
            (Err(_), Some(why)) => report.known.push((case.name.clone(), why.clone())),
            (Err(why), None) => {
                if why.contains("host program") {
                    host = restart();
                }
                report.failed.push((case.name.clone(), why));
            }
        }
    }
    report
}

fn one(case: &Case, host: &mut dyn Host, schemas: Option<&Schemas>) -> Result<usize, String> {
    let checked = run::run(case, host, Variant::Whole, schemas)?.checked;
    if run::has_variants(case) {
        for variant in &Variant::ALL[1..] {
            run::run(case, host, *variant, None).map_err(|why| format!("in variant {variant:?}: {why}"))?;
        }
    }
    Ok(checked)
}
