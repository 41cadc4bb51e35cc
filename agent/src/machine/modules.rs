//! The scenario's kernel modules, which the engine has compiled for this kernel.

use std::ffi::CString;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use serde::Deserialize;

/// File that lists the modules, in the order in which they are loaded.
const ORDER: &str = "order.json";

/// A module's binary, and its parameters as insmod(8) takes them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    file: String,
    parameters: String,
}

/// Loads the modules of the directory.
pub fn load(dir: &Path) -> Result<()> {
    let text = std::fs::read_to_string(dir.join(ORDER)).context(ORDER)?;
    let objects: Vec<Object> = serde_json::from_str(&text).context(ORDER)?;
    for object in objects {
        let file = File::open(dir.join(&object.file)).with_context(|| object.file.clone())?;
        let parameters = CString::new(object.parameters.as_str()).context("parameters")?;
        finit_module(&file, &parameters, ModuleInitFlags::empty()).map_err(|e| {
            anyhow!(
                "the kernel refuses the module {}: {}",
                object.file,
                told(e, &object.parameters)
            )
        })?;
    }
    Ok(())
}

/// Explains an error of finit_module(2) (kernel/module/main.c) whose own name misleads.
fn told(error: Errno, parameters: &str) -> String {
    match error {
        Errno::EEXIST => {
            "the name of the module, or of what it registers, is taken (EEXIST)".into()
        }
        Errno::ENOENT => "it needs a symbol that the kernel does not have (ENOENT)".into(),
        Errno::ENOEXEC => "it was not made for this kernel (ENOEXEC)".into(),
        Errno::EINVAL if parameters.is_empty() => "its own initialisation refused (EINVAL)".into(),
        Errno::EINVAL => format!(
            "a parameter has a value that it does not take, or its own initialisation refused: {parameters} (EINVAL)"
        ),
        other => format!("its initialisation failed ({other})"),
    }
}
