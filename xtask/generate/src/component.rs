//! `component IN OUT`: a module as a component. `component-check COMPONENT WIT`: whether one is what its WIT says.
use std::{fs, path::Path};

use wasmparser::{Parser, Payload, Validator};
use wit_component::{ComponentEncoder, DecodedWasm, OutputToString, WitPrinter};
use wit_parser::{Resolve, WorldId, WorldItem};

use crate::Result;

pub(crate) fn run(input: &Path, output: &Path) -> Result<()> {
    let module = fs::read(input)?;
    let component = ComponentEncoder::default().validate(true).module(&module)?.encode()?;
    fs::write(output, component)?;
    Ok(())
}

/// Prints a line for each thing that holds, and fails with the first that does not.
#[expect(clippy::print_stdout, reason = "what holds is what is asked for")]
pub(crate) fn check(component: &Path, wit: &Path) -> Result<()> {
    let bytes = fs::read(component)?;
    Validator::new().validate_all(&bytes)?;
    println!("ok      it is a valid component");

    let imports = imports(&bytes)?;
    if !imports.is_empty() {
        return Err(format!("it imports {}", imports.join(", ")).into());
    }
    println!("ok      it imports nothing");

    let mut documented = Resolve::default();
    let (package, _) = documented.push_path(wit)?;
    let world = documented.select_world(&[package], None)?;
    wit_component::targets(&documented, world, &bytes, false)?;
    println!("ok      it fits the documented world");

    let DecodedWasm::Component(found, found_world) = wit_component::decode(&bytes)? else {
        return Err("it is a WIT package".into());
    };
    let (wanted, found) = (exports(&documented, world)?, exports(&found, found_world)?);
    if wanted != found {
        return Err(format!("it exports\n{found}\nthe documentation says\n{wanted}").into());
    }
    println!("ok      it exports what is documented and nothing else");
    Ok(())
}

/// The names of what the component itself imports.
fn imports(bytes: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    // Modules inside of the component import from each other: those imports are deeper.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.push(import?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// What a world exports, as text without comments.
fn exports(resolve: &Resolve, world: WorldId) -> Result<String> {
    let mut text = String::new();
    for (key, item) in &resolve.worlds[world].exports {
        text.push_str(&format!("{}\n", resolve.name_world_key(key)));
        if let WorldItem::Interface { id, .. } = item {
            let mut printer = WitPrinter::new(OutputToString::default());
            printer.emit_docs(false).print_interface(resolve, *id)?;
            text.push_str(&String::from(printer.output));
        }
    }
    Ok(text)
}
