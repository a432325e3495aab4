//! The whole gate: every step runs, also after a failure, and each thing that is checked counts as
//! one test. The last line says how many passed and how many failed.

mod ansible;
mod cargo;
mod gate;
mod scripts;

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{declarations, deps, docs, examples, install};

use self::gate::Tally;

/// A step: its name and what it does. It adds what it checked to the tally.
struct Step {
    name: &'static str,
    run: fn(&Workspace, &mut Tally) -> Result<()>,
}

/// In this order, since a later step uses what an earlier one builds.
const STEPS: [Step; 14] = [
    Step { name: "fmt", run: cargo::fmt },
    Step { name: "clippy", run: cargo::clippy },
    Step { name: "test", run: cargo::test },
    Step { name: "doctest", run: cargo::doctest },
    Step { name: "deps", run: |workspace, tally| chore(workspace, tally, "deps", deps::run) },
    Step { name: "deny", run: cargo::deny },
    Step {
        name: "install",
        run: |workspace, tally| {
            chore(workspace, tally, "install", |workspace, _| {
                install::run(workspace, &["--sizes".into()])
            })
        },
    },
    Step {
        name: "docs",
        run: |workspace, tally| {
            chore(workspace, tally, "docs", |workspace, _| {
                docs::run(workspace, &["--check".into()])
            })
        },
    },
    Step {
        name: "declarations",
        run: |workspace, tally| chore(workspace, tally, "declarations", declarations::run),
    },
    Step { name: "examples", run: examples_of_modules },
    Step { name: "ansible-doc", run: ansible::doc },
    Step { name: "lint", run: ansible::lint },
    Step { name: "syntax", run: ansible::syntax },
    Step { name: "e2e", run: scripts::whole },
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen: Vec<&Step> = match words.as_slice() {
        [] => STEPS.iter().collect(),
        ["--list"] => {
            STEPS.iter().for_each(|step| println!("{}", step.name));
            return Ok(true);
        }
        ["--only", names] => {
            let names: Vec<&str> = names.split(',').collect();
            for name in &names {
                ensure!(STEPS.iter().any(|step| step.name == *name), "there is no step {name}");
            }
            STEPS.iter().filter(|step| names.contains(&step.name)).collect()
        }
        _ => bail!("only --list and --only NAME[,NAME] are known"),
    };
    let mut tally = Tally::new(workspace.target_dir().join("ci"))?;
    for step in chosen {
        println!("== {}", step.name);
        let start = Instant::now();
        if let Err(error) = (step.run)(workspace, &mut tally) {
            tally.fail(step.name, &format!("{error:#}"));
        }
        println!("   {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(tally.finish())
}

/// One of the other chores as a gate. What it prints says what is wrong.
fn chore(
    workspace: &Workspace,
    tally: &mut Tally,
    name: &str,
    run: fn(&Workspace, &[String]) -> Result<bool>,
) -> Result<()> {
    match run(workspace, &[]) {
        Ok(true) => tally.pass(name),
        Ok(false) => tally.fail(name, "see above"),
        Err(error) => tally.fail(name, &format!("{error:#}")),
    }
    Ok(())
}

fn examples_of_modules(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    for module in workspace.descriptions()? {
        let name = format!("examples of {}", module.name);
        match examples::check(workspace, &module) {
            Ok(_) => tally.pass(&name),
            Err(error) => tally.fail(&name, &format!("{error:#}")),
        }
    }
    Ok(())
}
