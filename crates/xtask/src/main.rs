//! Chores. Each is a name and a function; none of them keeps a list of modules, roles or playbooks,
//! they look at the folders.

mod ci;
mod declarations;
mod deps;
mod dist;
mod docs;
mod examples;
mod install;
mod new_module;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// A chore: its name, what it does, and the function. It says whether all was well.
struct Chore {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace, &[String]) -> Result<bool>,
}

const CHORES: [Chore; 8] = [
    Chore {
        name: "install",
        about: "build the static binaries, check them and put them where Ansible finds them; with \
                --sizes: fail if one is larger than its budget",
        run: install::run,
    },
    Chore {
        name: "docs",
        about: "write the sidecars, action groups and tables; with --check: fail if one would change",
        run: docs::run,
    },
    Chore {
        name: "examples",
        about: "check each module's examples against its options",
        run: examples::run,
    },
    Chore {
        name: "declarations",
        about: "check what all modules declare as one set",
        run: declarations::run,
    },
    Chore {
        name: "dist",
        about: "make the collection's tarball, with licences and a bill of materials",
        run: dist::run,
    },
    Chore { name: "deps", about: "check which crate depends on which", run: deps::run },
    Chore {
        name: "new-module",
        about: "NAME: make the folder of a new module",
        run: new_module::run,
    },
    Chore {
        name: "ci",
        about: "run every gate; the last line counts what passed and failed; --list, --only NAME",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        println!("usage: cargo xtask CHORE\n");
        for chore in &CHORES {
            println!("  {:<12} {}", chore.name, chore.about);
        }
        return ExitCode::from(2);
    };
    match Workspace::find().and_then(|workspace| (chore.run)(&workspace, &arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
