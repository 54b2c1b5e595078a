//! `uniffi kotlin LIBRARY OUT` and `uniffi swift LIBRARY SOURCES HEADERS`: the other side of the flat objects. From a static
//! library: what is read here does not survive the stripping of a dynamic one. Names are in `bindings-swift/uniffi.toml`.
use std::path::{Path, PathBuf};

use uniffi::{GenerateOptions, SwiftBindingsOptions, TargetLanguage, generate, generate_swift_bindings};

use crate::Result;

/// Writes the Kotlin source, in the folders of its package, into the folder `output`.
pub(crate) fn kotlin(library: &Path, output: &Path) -> Result<()> {
    generate(GenerateOptions {
        languages: vec![TargetLanguage::Kotlin],
        source: library.to_path_buf().try_into()?,
        out_dir: output.to_path_buf().try_into()?,
        config_override: Some(names().try_into()?),
        metadata_no_deps: true,
        ..GenerateOptions::default()
    })?;
    Ok(())
}

/// Writes the Swift source into the folder `sources`; the C header and `module.modulemap` into `headers`.
pub(crate) fn swift(library: &Path, sources: &Path, headers: &Path) -> Result<()> {
    let options = |out: &Path, module: bool| -> Result<SwiftBindingsOptions> {
        Ok(SwiftBindingsOptions {
            generate_swift_sources: !module,
            generate_headers: module,
            generate_modulemap: module,
            source: library.to_path_buf().try_into()?,
            out_dir: out.to_path_buf().try_into()?,
            xcframework: false,
            module_name: Some("KeelFlatFFI".into()),
            modulemap_filename: Some("module.modulemap".into()),
            metadata_no_deps: true,
            link_frameworks: Vec::new(),
            config: Some(names().try_into()?),
        })
    };
    generate_swift_bindings(options(sources, false)?)?;
    generate_swift_bindings(options(headers, true)?)?;
    Ok(())
}

/// The file with the names of packages and modules.
fn names() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings-swift/uniffi.toml")
}
