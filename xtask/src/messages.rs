//! Every message of ours that an area sends, against the schema of its revision. Programs of ours write down what they
//! exchange when `KEEL_TRACE` names a folder.
use std::{fs, path::PathBuf};

use crate::{
    Result,
    build::cargo,
    place::Place,
    run::{Job, step, tail},
};

/// The folder for the messages of one area.
pub(crate) struct Messages<'a> {
    place: &'a Place,
    area: &'a str,
    folder: PathBuf,
}

impl<'a> Messages<'a> {
    /// An empty folder.
    pub(crate) fn of(place: &'a Place, area: &'a str) -> Result<Self> {
        let folder = place.work.join("traces").join(area);
        if folder.is_dir() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { place, area, folder })
    }

    /// Lets a job, and all that it starts, write down what it exchanges.
    pub(crate) fn watch(&self, job: Job) -> Job {
        job.env("KEEL_TRACE", &self.folder)
    }

    /// Checks all that was written down. That there is nothing is a failure too.
    pub(crate) fn check(&self) -> Result<bool> {
        if !self.place.has_specification() {
            println!(
                "left out: messages against the schemas; there is no specification data (../shared/spec, or KEEL_SPEC)"
            );
            return Ok(true);
        }
        let folder = self.folder.to_string_lossy();
        let arguments = ["run", "--quiet", "-p", "keel-tests", "--bin", "wirecheck", "--", &folder];
        let log = self.place.log(&format!("messages of {}", self.area));
        let ok = step(&format!("messages of {} against the schemas", self.area), &cargo(self.place, &arguments), &log)?;
        println!("        {}", tail(&log, 1).trim());
        Ok(ok)
    }
}
